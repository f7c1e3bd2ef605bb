/** Progress of an improvement, reduced from the evaluation and its stream events. */

import type { Calls, ImprovementRound, Evaluation } from "../../api/types.ts";

export type ImprovementEvent = Calls["POST /api/evaluations/{id}/improve"]["gives"];

/** The round in progress. */
export interface RoundAttempt {
  readonly number: number;
  readonly change: string;
  readonly answer: string;
}

export interface EvaluationProgress {
  readonly evaluation: Evaluation;
  readonly attempt: RoundAttempt | null;
  readonly outcome: "all_pass" | "failed" | "no_more_rounds" | null;
  readonly message: string;
}

export function initialProgress(evaluation: Evaluation): EvaluationProgress {
  return { evaluation, attempt: null, outcome: null, message: "" };
}

export function applyImprovementEvent(progress: EvaluationProgress, event: ImprovementEvent): EvaluationProgress {
  switch (event.type) {
    case "improving":
      return {
        ...initialProgress(event.evaluation),
        attempt: { number: event.evaluation.rounds.length + 1, change: "", answer: "" },
      };
    case "rewritten":
      return { ...progress, attempt: { number: event.round, change: event.change, answer: "" } };
    case "answered":
      return {
        ...progress,
        attempt: { change: progress.attempt?.change ?? "", number: event.round, answer: event.answer },
      };
    case "round_ended": {
      const rounds = [...progress.evaluation.rounds.slice(0, event.number - 1), event.round];
      const trying = { number: event.number + 1, change: "", answer: "" };
      return { ...progress, evaluation: { ...progress.evaluation, rounds }, attempt: trying };
    }
    case "done":
      return { evaluation: event.evaluation, attempt: null, outcome: event.outcome, message: event.message };
    default:
      return progress;
  }
}

export function countPasses(verdicts: readonly { passed: boolean }[]): number {
  return verdicts.filter((one) => one.passed).length;
}

/** The newest round that beat all earlier ones. Accepting applies it. */
export function bestRound(evaluation: Evaluation): ImprovementRound | null {
  return evaluation.rounds.findLast((round) => round.is_better) ?? null;
}

/** One assertion per line; empty lines are ignored. */
export function assertionLines(text: string): readonly string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
}
