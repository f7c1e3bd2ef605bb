/** One answer of the table: its turns, its stages, and what was found in it, as far as was heard. */

import type {
  ActionTaken,
  Agreed,
  BallotCast,
  Decided,
  Event,
  LedgerMade,
  Message,
  Notice,
  Participant,
  RankingMade,
  Recapped,
  Run as Stored,
  SummaryMade,
} from "../api/types.ts";
import { fresh, heard, isLive, keyOf, turnOf, type Seat, type Turn } from "./turn.ts";

/** Something that was done, and how many characters its turn had said by then. */
export interface Done extends ActionTaken {
  readonly said: number;
}

export interface Run {
  readonly id: string;
  readonly mode: string | null;
  readonly status: Stored["status"] | null;
  /** What it answers to; null where nobody asked, or where that is on an older page. */
  readonly asked: Message | null;
  /** The answer of which it makes another version. */
  readonly again: string | null;
  readonly participants: readonly Participant[];
  readonly turns: readonly Turn[];
  readonly stages: readonly { stage: string; round: number }[];
  readonly notices: readonly Notice[];
  readonly agreed: Agreed | null;
  readonly summary: SummaryMade | null;
  readonly ledger: LedgerMade | null;
  readonly ranking: RankingMade | null;
  readonly ballots: readonly BallotCast[];
  readonly decisions: readonly Decided[];
  readonly recaps: readonly Recapped[];
  readonly actions: readonly Done[];
  /** The number of the newest event that was heard; 0 before any. */
  readonly heard: number;
  /** How often something of it was tried again, as far as is known. */
  readonly revision: number;
}

export function emptyRun(id: string): Run {
  return {
    id,
    mode: null,
    status: null,
    asked: null,
    again: null,
    participants: [],
    turns: [],
    stages: [],
    notices: [],
    agreed: null,
    summary: null,
    ledger: null,
    ranking: null,
    ballots: [],
    decisions: [],
    recaps: [],
    actions: [],
    heard: 0,
    revision: 0,
  };
}

/** Hear what happened. What was heard before is not heard twice. */
export function told(run: Run, event: Event): Run {
  return event.seq <= run.heard ? run : { ...applied(run, event), heard: event.seq };
}

function applied(run: Run, event: Event): Run {
  switch (event.type) {
    case "run_started":
      return { ...run, status: "running", participants: event.participants };
    case "stage_started":
      return { ...run, stages: [...run.stages, { stage: event.stage, round: event.round }] };
    case "notice":
      return {
        ...run,
        status: event.kind === "retried" ? "running" : run.status,
        notices: withOne(run.notices, event),
      };
    case "turn_started":
      return {
        ...withTurn(run, event, event.at, (turn) => heard(turn, event)),
        actions: withoutTurn(run, event),
      };
    case "text_retracted":
      return {
        ...withTurn(run, event, event.at, (turn) => heard(turn, event)),
        actions: withoutTurn(run, event),
      };
    case "action":
      return {
        ...withTurn(run, event, event.at, (turn) => heard(turn, event)),
        actions: [...run.actions, { ...event, said: said(run, event) }],
      };
    case "turn_ended":
      return {
        ...withTurn(run, event, event.at, (turn) => heard(turn, event)),
        actions: event.status === "failed" ? withoutTurn(run, event) : run.actions,
      };
    case "text_delta":
    case "thought_delta":
    case "action_dropped":
    case "tool_call":
    case "approval_wanted":
    case "approval":
    case "tool_result":
      return withTurn(run, event, event.at, (turn) => heard(turn, event));
    case "agreed":
      return { ...run, agreed: event };
    case "summary":
      return { ...run, summary: event };
    case "ledger":
      return { ...run, ledger: event };
    case "ranking":
      return { ...run, ranking: event };
    case "ballot":
      return { ...run, ballots: [...run.ballots, event] };
    case "decision":
      return { ...run, decisions: [...run.decisions.filter((one) => one.turn !== event.turn), event] };
    case "recap":
      return { ...run, recaps: withOne(run.recaps, event) };
    case "run_ended":
      return { ...run, status: event.status };
    case "prompted":
      return run;
    default:
      return unheardOf(event, run);
  }
}

/** A newer server may tell of things that this page does not know; they are left alone. */
function unheardOf(_: never, run: Run): Run {
  return run;
}

function withTurn(run: Run, seat: Seat, at: number, change: (turn: Turn) => Turn): Run {
  const key = keyOf(seat);
  const place = run.turns.findIndex((turn) => turn.key === key);
  const before = run.turns[place];
  if (!before) return { ...run, turns: [...run.turns, change(fresh(run.id, seat, at))] };
  if (before.versions > 1) return run; // what is told of it again is its first version
  return { ...run, turns: run.turns.with(place, change(before)) };
}

function said(run: Run, seat: Seat): number {
  return run.turns.find((turn) => turn.key === keyOf(seat))?.text.length ?? 0;
}

/** The actions of a turn that begins anew, or fails, are void. */
function withoutTurn(run: Run, seat: Seat): readonly Done[] {
  const key = keyOf(seat);
  return run.actions.some((one) => keyOf(one) === key)
    ? run.actions.filter((one) => keyOf(one) !== key)
    : run.actions;
}

/** Take in what was read of a run's messages: it is what counts, but for turns that are being spoken. */
export function read(run: Run, messages: readonly Message[]): Run {
  const asked = messages.find((one) => one.role === "user" && one.participant === null) ?? run.asked;
  const turns = [...run.turns];
  for (const message of messages) {
    const turn = turnOf(message);
    if (!turn) continue;
    const place = turns.findIndex((one) => one.key === turn.key);
    const known = turns[place];
    if (!known) turns.push(turn);
    else if (!isLive(known)) {
      const { dropped, renewal } = known;
      turns[place] = { ...turn, dropped, renewal };
    }
  }
  return { ...run, asked, turns };
}

/** Take in what was read of what was told in a run beside words; it may be told again. */
export function reminded(run: Run, event: Notice | Recapped): Run {
  return event.type === "notice"
    ? { ...run, notices: withOne(run.notices, event) }
    : { ...run, recaps: withOne(run.recaps, event) };
}

/** Put an event among others of its kind, once and in the order of their numbers. */
function withOne<E extends { seq: number }>(some: readonly E[], event: E): readonly E[] {
  if (some.some((one) => one.seq === event.seq)) return some;
  return [...some, event].sort((a, b) => a.seq - b.seq);
}

/** Take in how a run stands by a list of those that are live; one that has ended goes on only if it was tried again. */
export function standing(run: Run, stored: Stored): Run {
  const { mode, again, revision } = stored;
  const isOver = run.status !== null && !goesOn(run) && revision <= run.revision;
  return { ...run, mode, again, revision, status: isOver ? run.status : stored.status };
}

/** Forget all that was heard of a run, since it will be told from the start. */
export function forgotten({ id, asked, mode, again, status, revision }: Run): Run {
  return { ...emptyRun(id), asked, mode, again, status, revision };
}

export const goesOn = (run: Run): boolean => run.status === "running" || run.status === "waiting";
