/** Debates as the server tells of them, for tests that look at what is shown of one. */

import { emptyDiscussion, applyEvents } from "../src/state/discussion.ts";
import type { Run } from "../src/state/run.ts";
import type { RunReport } from "../src/api/types.ts";
import { begins, numbered, started, stops } from "./events.ts";

export const PEOPLE = ["alpha", "beta", "gamma"];

export const stage = (name: string, round = 0) => ({ type: "stage_started", stage: name, round });
export const speaks = (who: string, at: string, round = 0) => ({ ...begins(who), stage: at, round });
export const ends = (who: string, at: string, status = "completed", round = 0) => ({
  ...stops(who, `${who} in ${at}`, status),
  stage: at,
  round,
  fault: status === "failed" ? { kind: "auth", message: "Key rejected." } : null,
});
export const tells = (kind: string, message: string, participant: string | null = null) => ({
  type: "notice",
  kind,
  message,
  participant,
  charge: null,
});

/** The run that one has heard so much of. */
export function heardOf(...events: readonly object[]): Run {
  const [run] = applyEvents(emptyDiscussion("dis_1"), numbered("run_1", started, ...events)).runs;
  if (!run) throw new Error("nothing was heard");
  return run;
}

export const BOTH_FIRST = [stage("initial"), speaks("alpha", "initial"), speaks("beta", "initial")];
export const FIRST_OVER = [...BOTH_FIRST, ends("alpha", "initial"), ends("beta", "initial")];

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
