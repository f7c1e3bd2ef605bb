/** How an improvement goes: a pure function of the trial and what was told of its rounds. */

import type { Calls, Round, Trial } from "../../api/types.ts";

export type Told = Calls["POST /api/trials/{id}/improve"]["gives"];

/** The round that is being tried. */
export interface Trying {
  readonly number: number;
  readonly change: string;
  readonly answer: string;
}

export interface Progress {
  readonly trial: Trial;
  readonly trying: Trying | null;
  readonly outcome: "all_pass" | "failed" | "no_more_rounds" | null;
  readonly message: string;
}

export function begun(trial: Trial): Progress {
  return { trial, trying: null, outcome: null, message: "" };
}

export function improved(progress: Progress, event: Told): Progress {
  switch (event.type) {
    case "improving":
      return {
        ...begun(event.trial),
        trying: { number: event.trial.rounds.length + 1, change: "", answer: "" },
      };
    case "rewritten":
      return { ...progress, trying: { number: event.round, change: event.change, answer: "" } };
    case "answered":
      return {
        ...progress,
        trying: { change: progress.trying?.change ?? "", number: event.round, answer: event.answer },
      };
    case "round_ended": {
      const rounds = [...progress.trial.rounds.slice(0, event.number - 1), event.round];
      const trying = { number: event.number + 1, change: "", answer: "" };
      return { ...progress, trial: { ...progress.trial, rounds }, trying };
    }
    case "done":
      return { trial: event.trial, trying: null, outcome: event.outcome, message: event.message };
    default:
      return progress;
  }
}

export function passes(verdicts: readonly { passed: boolean }[]): number {
  return verdicts.filter((one) => one.passed).length;
}

/** The newest round that was better than all before: it is what is accepted. */
export function best(trial: Trial): Round | null {
  return trial.rounds.findLast((round) => round.better) ?? null;
}

/** One assertion a line; what is empty is none. */
export function lines(text: string): readonly string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
}
