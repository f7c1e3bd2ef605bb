/** Parts of an advisors run: answers, replies to each other, and the synthesis. */

import type { Turn } from "../../../state/turn.ts";

interface AdviceParts {
  readonly answers: readonly Turn[];
  readonly replies: readonly Turn[];
  /** Advisors without a reply. */
  readonly passes: readonly Turn[];
  readonly syntheses: readonly Turn[];
}

const PASS_TEXTS = new Set(["pass", "pass."]);

export function splitAdvice(turns: readonly Turn[]): AdviceParts {
  const syntheses = turns.filter((turn) => turn.role === "synthesis");
  const between = turns.filter((turn) => turn.stage === "cross_talk");
  const passed = between.filter((turn) => PASS_TEXTS.has(turn.text.trim().toLowerCase()));
  return {
    answers: turns.filter((turn) => turn.role !== "synthesis" && turn.stage !== "cross_talk"),
    replies: between.filter((turn) => !passed.includes(turn)),
    passes: passed,
    syntheses,
  };
}
