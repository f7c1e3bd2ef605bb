/** The parts of one advice: what each answered, what they said to each other, and what it comes to. */

import type { Turn } from "../../../state/turn.ts";

interface Advice {
  readonly answers: readonly Turn[];
  readonly replies: readonly Turn[];
  /** Who had nothing to say to the others. */
  readonly passed: readonly Turn[];
  readonly syntheses: readonly Turn[];
}

const PASSES = new Set(["pass", "pass."]);

export function parted(turns: readonly Turn[]): Advice {
  const syntheses = turns.filter((turn) => turn.role === "synthesis");
  const between = turns.filter((turn) => turn.stage === "cross_talk");
  const passed = between.filter((turn) => PASSES.has(turn.text.trim().toLowerCase()));
  return {
    answers: turns.filter((turn) => turn.role !== "synthesis" && turn.stage !== "cross_talk"),
    replies: between.filter((turn) => !passed.includes(turn)),
    passed,
    syntheses,
  };
}
