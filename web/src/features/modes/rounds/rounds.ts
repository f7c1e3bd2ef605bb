/** Groups the turns of a run into rounds: past, current and next speaker. */

import { modeSpec, isLiveRun, type Run } from "../../../state/run.ts";
import { isLiveTurn, type Turn } from "../../../state/turn.ts";

export interface Round {
  /** Starts at 1. */
  readonly number: number;
  readonly turns: readonly Turn[];
}

/** Consensus rounds come from the events. In a continued run, one turn of each participant is a round. */
export function buildRounds(run: Run, participantCount: number): readonly Round[] {
  const byNumber = new Map<number, Turn[]>();
  for (const turn of run.turns) {
    const number =
      1 + (turn.stage === "continue" ? Math.floor(turn.round / Math.max(participantCount, 1)) : turn.round);
    byNumber.set(number, [...(byNumber.get(number) ?? []), turn]);
  }
  const numbers = [...byNumber.keys()].sort((a, b) => a - b);
  return numbers.map((number) => ({ number, turns: byNumber.get(number) ?? [] }));
}

export interface SpeakerStatus {
  readonly speaker: string | null;
  /** Null if there is none, or if it is unknown. */
  readonly nextSpeaker: string | null;
  /** Number of finished turns, and the total if known. */
  readonly finishedTurns: number;
  readonly totalTurns: number | null;
}

/** Return the current and next speaker. `turns` is the total, if known. */
export function findSpeakerStatus(
  run: Run,
  participants: readonly string[],
  turns: number | null,
): SpeakerStatus | null {
  if (!isLiveRun(run)) return null;
  const speaking = run.turns.find(isLiveTurn) ?? null;
  const last = speaking ?? run.turns.at(-1) ?? null;
  const finishedTurns = run.turns.filter((turn) => !isLiveTurn(turn)).length;
  const startedTurns = finishedTurns + (speaking ? 1 : 0);
  const place = last ? participants.indexOf(last.participant) : -1;
  const following = participants[(place + 1) % Math.max(participants.length, 1)] ?? null;
  const isKnown = turns !== null && startedTurns < turns && (last !== null || modeSpec(run.mode).in_rounds);
  return {
    speaker: speaking?.participant ?? null,
    nextSpeaker: isKnown ? following : null,
    finishedTurns,
    totalTurns: turns,
  };
}
