/** Kind of a run, which decides how it is rendered, also when only its messages are known. */

import type { Discussion } from "../api/types.ts";
import type { Run } from "./run.ts";

type RunKind = "answers" | "rounds" | "debate" | "advice" | "lesson";

const KIND_BY_STAGE: Record<string, RunKind> = {
  initial: "debate",
  debate: "debate",
  round: "rounds",
  continue: "rounds",
  turn: "lesson",
  cross_talk: "advice",
};
const KIND_BY_MODE: Record<string, RunKind> = {
  debate: "debate",
  consensus: "rounds",
  continue: "rounds",
  advisors: "advice",
  directed: "lesson",
};

export function runKind(run: Run, discussion: Discussion): RunKind {
  const staged = run.turns.map((turn) => KIND_BY_STAGE[turn.stage]).find(Boolean);
  if (staged) return staged;
  const mode = run.mode ?? (run.turns.length === 0 || discussion.mode === "advisors" ? discussion.mode : "");
  return KIND_BY_MODE[mode] ?? "answers";
}
