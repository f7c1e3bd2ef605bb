/** The ways in which a table can talk, in the words in which they are offered. */

import type { LineUp } from "../api/types.ts";

export type Mode = LineUp["mode"];

interface ModeWords {
  mode: Mode;
  title: string;
  words: string;
  /** What its rules are about. */
  rules: string;
  /** How many it takes at least. */
  least: number;
}

export const MODES: readonly ModeWords[] = [
  { mode: "single", title: "One voice", words: "You and one model, back and forth.", rules: "", least: 1 },
  {
    mode: "parallel",
    title: "Side by side",
    words: "All answer at once, and nobody sees the others.",
    rules: "",
    least: 1,
  },
  {
    mode: "consensus",
    title: "Consensus",
    words: "They answer in rounds, and read each other in between.",
    rules: "rounds",
    least: 2,
  },
  {
    mode: "debate",
    title: "Debate",
    words: "Each answers alone, then argues with the others; one sums up.",
    rules: "who sums up, deadline, ranking",
    least: 2,
  },
  {
    mode: "advisors",
    title: "Advisors",
    words: "Each talks with you in its own thread, and asks before it advises.",
    rules: "when they advise, synthesis",
    least: 1,
  },
  {
    mode: "directed",
    title: "Lesson",
    words: "A director calls on one voice at a time; all share a whiteboard.",
    rules: "turns, topic",
    least: 1,
  },
];

export function wordsOf(mode: string): ModeWords {
  return MODES.find((one) => one.mode === mode) ?? MODES[1]!;
}
