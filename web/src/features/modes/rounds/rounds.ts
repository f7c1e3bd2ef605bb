/** A talk in turn, taken apart into rounds: who has spoken, who speaks, and who is next. */

import { goesOn, type Run } from "../../../state/run.ts";
import { isLive, type Turn } from "../../../state/turn.ts";

export interface Round {
  /** Counts from 1. */
  readonly number: number;
  readonly turns: readonly Turn[];
}

/** Rounds of consensus are as they were opened; where the table goes on by itself, once around it is a round. */
export function roundsOf(run: Run, seats: number): readonly Round[] {
  const byNumber = new Map<number, Turn[]>();
  for (const turn of run.turns) {
    const number = 1 + (turn.stage === "continue" ? Math.floor(turn.round / Math.max(seats, 1)) : turn.round);
    byNumber.set(number, [...(byNumber.get(number) ?? []), turn]);
  }
  const numbers = [...byNumber.keys()].sort((a, b) => a - b);
  return numbers.map((number) => ({ number, turns: byNumber.get(number) ?? [] }));
}

export interface Floor {
  readonly speaking: string | null;
  /** Null where nobody is, or where it cannot be told. */
  readonly next: string | null;
  /** How many turns are done, and of how many, where that is known. */
  readonly over: number;
  readonly of: number | null;
}

/** Say who has the floor. `turns` is how many turns there will be in all, where that is known. */
export function floorOf(run: Run, seats: readonly string[], turns: number | null): Floor | null {
  if (!goesOn(run)) return null;
  const speaking = run.turns.find(isLive) ?? null;
  const last = speaking ?? run.turns.at(-1) ?? null;
  const over = run.turns.filter((turn) => !isLive(turn)).length;
  const begun = over + (speaking ? 1 : 0);
  const place = last ? seats.indexOf(last.participant) : -1;
  const following = seats[(place + 1) % Math.max(seats.length, 1)] ?? null;
  const isKnown = turns !== null && begun < turns && (last !== null || run.mode === "consensus");
  return { speaking: speaking?.participant ?? null, next: isKnown ? following : null, over, of: turns };
}
