/** A talk in turn, taken apart into rounds: who has spoken, who speaks, and who is next. */

import { isLiveRun, type Run } from "../../../state/run.ts";
import { isLiveTurn, type Turn } from "../../../state/turn.ts";

export interface Round {
  /** Counts from 1. */
  readonly number: number;
  readonly turns: readonly Turn[];
}

/** Rounds of consensus are as they were opened; where the table goes on by itself, once around it is a round. */
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
  /** Null where nobody is, or where it cannot be told. */
  readonly nextSpeaker: string | null;
  /** How many turns are done, and of how many, where that is known. */
  readonly finishedTurns: number;
  readonly totalTurns: number | null;
}

/** Say who has the floor. `turns` is how many turns there will be in all, where that is known. */
export function findSpeakerStatus(
  run: Run,
  participants: readonly string[],
  turns: number | null,
): SpeakerStatus | null {
  if (!isLiveRun(run)) return null;
  const speaking = run.turns.find(isLiveTurn) ?? null;
  const last = speaking ?? run.turns.at(-1) ?? null;
  const over = run.turns.filter((turn) => !isLiveTurn(turn)).length;
  const begun = over + (speaking ? 1 : 0);
  const place = last ? participants.indexOf(last.participant) : -1;
  const following = participants[(place + 1) % Math.max(participants.length, 1)] ?? null;
  const isKnown = turns !== null && begun < turns && (last !== null || run.mode === "consensus");
  return {
    speaker: speaking?.participant ?? null,
    nextSpeaker: isKnown ? following : null,
    finishedTurns: over,
    totalTurns: turns,
  };
}
