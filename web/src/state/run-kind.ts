/** Kind of a run, which decides how it is rendered, also when only its messages are known. */

import { MODES, type Discussion, type ModeSpec } from "../api/types.ts";
import { modeSpec } from "./modes.ts";
import type { Run } from "./run.ts";

type RunKind = ModeSpec["view"];

const STAGES = Object.values(MODES).flatMap(({ stages, view }) =>
  stages.map((stage) => [stage, view] as const),
);
/** Stages that only one mode has. Others do not tell the kind of a run. */
const KIND_BY_STAGE: ReadonlyMap<string, RunKind> = new Map(
  STAGES.filter(([stage]) => STAGES.filter(([other]) => other === stage).length === 1),
);

export function runKind(run: Run, discussion: Discussion): RunKind {
  const staged = run.turns.map((turn) => KIND_BY_STAGE.get(turn.stage)).find(Boolean);
  if (staged) return staged;
  const isOfDiscussion = run.turns.length === 0 || modeSpec(discussion.mode).private_threads;
  return modeSpec(run.mode ?? (isOfDiscussion ? discussion.mode : null)).view;
}
