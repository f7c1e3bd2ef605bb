/** Builds the events, runs and reports of debates. */

import { emptyDiscussion, applyEvents } from "../src/state/discussion.ts";
import type { Run } from "../src/state/run.ts";
import type { RunReport } from "../src/api/types.ts";
import { turnStarted, numberEvents, runStarted, turnEnded } from "./events.ts";

export const PARTICIPANTS = ["alpha", "beta", "gamma"];

export const stageStarted = (name: string, round = 0) => ({ type: "stage_started", stage: name, round });
export const turnStartedIn = (who: string, stage: string, round = 0) => ({
  ...turnStarted(who),
  stage,
  round,
});
export const turnEndedIn = (who: string, stage: string, status = "completed", round = 0) => ({
  ...turnEnded(who, `${who} in ${stage}`, status),
  stage,
  round,
  fault: status === "failed" ? { kind: "auth", message: "Key rejected." } : null,
});
export const notice = (kind: string, message: string, participant: string | null = null) => ({
  type: "notice",
  kind,
  message,
  participant,
  charge: null,
});

/** Apply events to an empty run. */
export function runFromEvents(...events: readonly object[]): Run {
  const [run] = applyEvents(emptyDiscussion("dis_1"), numberEvents("run_1", runStarted, ...events)).runs;
  if (!run) throw new Error("the events have no run");
  return run;
}

export const FIRST_ANSWERS_STARTED = [
  stageStarted("initial"),
  turnStartedIn("alpha", "initial"),
  turnStartedIn("beta", "initial"),
];
export const FIRST_ANSWERS_ENDED = [
  ...FIRST_ANSWERS_STARTED,
  turnEndedIn("alpha", "initial"),
  turnEndedIn("beta", "initial"),
];

export function report(parts: Partial<RunReport> = {}): RunReport {
  return {
    lanes: [],
    summary: null,
    ranking: null,
    claims: [],
    position_changes: [],
    dropped_quotes: 0,
    agreement: null,
    notices: [],
    cost_usd: 0,
    unpriced_calls: 0,
    ...parts,
  } as unknown as RunReport;
}
