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
  Run as ServerRun,
  SummaryMade,
} from "../api/types.ts";
import {
  emptyTurn,
  applyTurnEvent,
  isLiveTurn,
  formatTurnKey,
  turnFromMessage,
  type TurnKey,
  type Turn,
} from "./turn.ts";

/** Something that was done, and how many characters its turn had said by then. */
export interface PerformedAction extends ActionTaken {
  readonly textOffset: number;
}

export interface Run {
  readonly id: string;
  readonly mode: string | null;
  readonly status: ServerRun["status"] | null;
  /** What it answers to; null where nobody asked, or where that is on an older page. */
  readonly userMessage: Message | null;
  /** The answer of which it makes another version. */
  readonly regenerate: string | null;
  readonly participants: readonly Participant[];
  readonly turns: readonly Turn[];
  readonly stages: readonly { stage: string; round: number }[];
  readonly notices: readonly Notice[];
  readonly agreement: Agreed | null;
  readonly summary: SummaryMade | null;
  readonly claims: LedgerMade | null;
  readonly ranking: RankingMade | null;
  readonly votes: readonly BallotCast[];
  readonly speakerSelections: readonly Decided[];
  readonly referenceSummaries: readonly Recapped[];
  readonly actions: readonly PerformedAction[];
  /** The number of the newest event that was heard; 0 before any. */
  readonly lastSeq: number;
  /** How often something of it was tried again, as far as is known. */
  readonly revision: number;
}

export function emptyRun(id: string): Run {
  return {
    id,
    mode: null,
    status: null,
    userMessage: null,
    regenerate: null,
    participants: [],
    turns: [],
    stages: [],
    notices: [],
    agreement: null,
    summary: null,
    claims: null,
    ranking: null,
    votes: [],
    speakerSelections: [],
    referenceSummaries: [],
    actions: [],
    lastSeq: 0,
    revision: 0,
  };
}

/** Hear what happened. What was heard before is not heard twice. */
export function applyRunEvent(run: Run, event: Event): Run {
  return event.seq <= run.lastSeq ? run : { ...reduceRunEvent(run, event), lastSeq: event.seq };
}

function reduceRunEvent(run: Run, event: Event): Run {
  switch (event.type) {
    case "run_started":
      return { ...run, status: "running", participants: event.participants };
    case "stage_started":
      return { ...run, stages: [...run.stages, { stage: event.stage, round: event.round }] };
    case "notice":
      return {
        ...run,
        status: event.kind === "retried" ? "running" : run.status,
        notices: withEvent(run.notices, event),
      };
    case "turn_started":
      return {
        ...updateTurn(run, event, event.at, (turn) => applyTurnEvent(turn, event)),
        actions: actionsWithoutTurn(run, event),
      };
    case "text_retracted":
      return {
        ...updateTurn(run, event, event.at, (turn) => applyTurnEvent(turn, event)),
        actions: actionsWithoutTurn(run, event),
      };
    case "action":
      return {
        ...updateTurn(run, event, event.at, (turn) => applyTurnEvent(turn, event)),
        actions: [...run.actions, { ...event, textOffset: turnTextLength(run, event) }],
      };
    case "turn_ended":
      return {
        ...updateTurn(run, event, event.at, (turn) => applyTurnEvent(turn, event)),
        actions: event.status === "failed" ? actionsWithoutTurn(run, event) : run.actions,
      };
    case "text_delta":
    case "thought_delta":
    case "action_dropped":
    case "tool_call":
    case "approval_wanted":
    case "approval":
    case "tool_result":
      return updateTurn(run, event, event.at, (turn) => applyTurnEvent(turn, event));
    case "agreed":
      return { ...run, agreement: event };
    case "summary":
      return { ...run, summary: event };
    case "ledger":
      return { ...run, claims: event };
    case "ranking":
      return { ...run, ranking: event };
    case "ballot":
      return { ...run, votes: [...run.votes, event] };
    case "decision":
      return {
        ...run,
        speakerSelections: [...run.speakerSelections.filter((one) => one.turn !== event.turn), event],
      };
    case "recap":
      return { ...run, referenceSummaries: withEvent(run.referenceSummaries, event) };
    case "run_ended":
      return { ...run, status: event.status };
    case "prompted":
      return run;
    default:
      return ignoreUnknownEvent(event, run);
  }
}

/** A newer server may tell of things that this page does not know; they are left alone. */
function ignoreUnknownEvent(_: never, run: Run): Run {
  return run;
}

function updateTurn(run: Run, turnKey: TurnKey, at: number, change: (turn: Turn) => Turn): Run {
  const key = formatTurnKey(turnKey);
  const place = run.turns.findIndex((turn) => turn.key === key);
  const before = run.turns[place];
  if (!before) return { ...run, turns: [...run.turns, change(emptyTurn(run.id, turnKey, at))] };
  if (before.versions > 1) return run; // what is told of it again is its first version
  return { ...run, turns: run.turns.with(place, change(before)) };
}

function turnTextLength(run: Run, turnKey: TurnKey): number {
  return run.turns.find((turn) => turn.key === formatTurnKey(turnKey))?.text.length ?? 0;
}

/** The actions of a turn that begins anew, or fails, are void. */
function actionsWithoutTurn(run: Run, turnKey: TurnKey): readonly PerformedAction[] {
  const key = formatTurnKey(turnKey);
  return run.actions.some((one) => formatTurnKey(one) === key)
    ? run.actions.filter((one) => formatTurnKey(one) !== key)
    : run.actions;
}

/** Take in what was read of a run's messages: it is what counts, but for turns that are being spoken. */
export function withMessages(run: Run, messages: readonly Message[]): Run {
  const asked = messages.find((one) => one.role === "user" && one.participant === null) ?? run.userMessage;
  const turns = [...run.turns];
  for (const message of messages) {
    const turn = turnFromMessage(message);
    if (!turn) continue;
    const place = turns.findIndex((one) => one.key === turn.key);
    const known = turns[place];
    if (!known) turns.push(turn);
    else if (!isLiveTurn(known)) {
      const { rejectedActions: dropped, regeneration: renewal } = known;
      turns[place] = { ...turn, rejectedActions: dropped, regeneration: renewal };
    }
  }
  return { ...run, userMessage: asked, turns };
}

/** Take in what was read of what was told in a run beside words; it may be told again. */
export function withNotice(run: Run, event: Notice | Recapped): Run {
  return event.type === "notice"
    ? { ...run, notices: withEvent(run.notices, event) }
    : { ...run, referenceSummaries: withEvent(run.referenceSummaries, event) };
}

/** Put an event among others of its kind, once and in the order of their numbers. */
function withEvent<E extends { seq: number }>(some: readonly E[], event: E): readonly E[] {
  if (some.some((one) => one.seq === event.seq)) return some;
  return [...some, event].sort((a, b) => a.seq - b.seq);
}

/** Take in how a run stands by a list of those that are live; one that has ended goes on only if it was tried again. */
export function withServerRun(run: Run, stored: ServerRun): Run {
  const { mode, again, revision } = stored;
  const isOver = run.status !== null && !isLiveRun(run) && revision <= run.revision;
  return { ...run, mode, regenerate: again, revision, status: isOver ? run.status : stored.status };
}

/** Forget all that was heard of a run, since it will be told from the start. */
export function resetRun({ id, userMessage: asked, mode, regenerate: again, status, revision }: Run): Run {
  return { ...emptyRun(id), userMessage: asked, mode, regenerate: again, status, revision };
}

export const isLiveRun = (run: Run): boolean => run.status === "running" || run.status === "waiting";
