/** The discussion modes and their labels. */

import type { Preset } from "../api/types.ts";

export type Mode = Preset["mode"];

interface ModeInfo {
  mode: Mode;
  title: string;
  words: string;
  /** Summary of the mode's options. */
  optionsSummary: string;
  /** Minimum number of participants. */
  minParticipants: number;
}

export const MODES: readonly ModeInfo[] = [
  {
    mode: "single",
    title: "Single",
    words: "You and one model, back and forth.",
    optionsSummary: "",
    minParticipants: 1,
  },
  {
    mode: "parallel",
    title: "Side by side",
    words: "All answer at once, without seeing each other.",
    optionsSummary: "",
    minParticipants: 1,
  },
  {
    mode: "consensus",
    title: "Consensus",
    words: "They answer in rounds, and read each other in between.",
    optionsSummary: "rounds",
    minParticipants: 2,
  },
  {
    mode: "debate",
    title: "Debate",
    words: "Each answers alone, then argues with the others; one sums up.",
    optionsSummary: "who sums up, deadline, ranking",
    minParticipants: 2,
  },
  {
    mode: "advisors",
    title: "Advisors",
    words: "Each talks with you in its own thread, and asks before it advises.",
    optionsSummary: "when they advise, synthesis",
    minParticipants: 1,
  },
  {
    mode: "directed",
    title: "Lesson",
    words: "A director picks one speaker at a time; all share a whiteboard.",
    optionsSummary: "turns, topic",
    minParticipants: 1,
  },
];

export function modeInfo(mode: string): ModeInfo {
  return MODES.find((one) => one.mode === mode) ?? MODES[1]!;
}
