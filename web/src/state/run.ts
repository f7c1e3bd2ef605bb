/** State of one run: its mode, turns, stages and analyses, reduced from events and stored messages. */

import {
  MODES,
  MODE_NAMES,
  type ActionTaken,
  type AgreementChecked,
  type VoteCast,
  type SpeakerSelected,
  type Event,
  type ClaimsExtracted,
  type Message,
  type Notice,
  type Participant,
  type RankingMade,
  type ReferenceSummarized,
  type Run as ServerRun,
  type SummaryMade,
  type Discussion,
  type ModeSpec,
  type Preset,
} from "../api/types.ts";
import {
  emptyTurn,
  applyTurnEvent,
  isLiveTurn,
  formatTurnKey,
  turnFromMessage,
  type TurnKey,
  type Turn,
  type TurnEvent,
} from "./turn.ts";

export type Mode = Preset["mode"];

const DEFAULT_MODE: Mode = "parallel";

/** The mode, or the default if an older page does not know it. */
export function knownMode(mode: string): Mode {
  return MODE_NAMES.find((one) => one === mode) ?? DEFAULT_MODE;
}

/** The spec of a mode, or of the default if the mode is not known. */
export function modeSpec(mode: string | null): ModeSpec {
  return MODES[mode ?? DEFAULT_MODE] ?? MODES[DEFAULT_MODE]!;
}

/** A whiteboard action, and the length of its turn's text at that time. */
export interface PerformedAction extends ActionTaken {
  readonly textOffset: number;
}

export interface Run {
  readonly id: string;
  readonly mode: string | null;
  readonly status: ServerRun["status"] | null;
  /** The user message that the run answers; null if there is none, or if it is on an older page. */
  readonly userMessage: Message | null;
  /** The answer that the run regenerates. */
  readonly regenerate: string | null;
  readonly participants: readonly Participant[];
  readonly turns: readonly Turn[];
  readonly stages: readonly { stage: string; round: number }[];
  readonly notices: readonly Notice[];
  readonly agreement: AgreementChecked | null;
  readonly summary: SummaryMade | null;
  readonly claims: ClaimsExtracted | null;
  readonly ranking: RankingMade | null;
  readonly votes: readonly VoteCast[];
  readonly speakerSelections: readonly SpeakerSelected[];
  readonly referenceSummaries: readonly ReferenceSummarized[];
  readonly actions: readonly PerformedAction[];
  /** Number of the last applied event; 0 before any. */
  readonly lastSeq: number;
  /** Number of known retries in the run. */
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

/** Reduce an event. Events that were already applied are ignored. */
export function applyRunEvent(run: Run, event: Event): Run {
  return event.seq <= run.lastSeq ? run : { ...reduceRunEvent(run, event), lastSeq: event.seq };
}

function reduceRunEvent(run: Run, event: Event): Run {
  switch (event.type) {
    case "run_started":
      return {
        ...run,
        status: "running",
        participants: event.participants,
        regenerate: event.regenerates ?? run.regenerate,
      };
    case "stage_started":
      return { ...run, stages: [...run.stages, { stage: event.stage, round: event.round }] };
    case "notice":
      return {
        ...run,
        status: event.kind === "retried" ? "running" : run.status,
        notices: withEvent(run.notices, event),
      };
    case "turn_started":
    case "text_retracted":
      return { ...updateTurn(run, event), actions: actionsWithoutTurn(run, event) };
    case "action":
      return {
        ...updateTurn(run, event),
        actions: [...run.actions, { ...event, textOffset: turnTextLength(run, event) }],
      };
    case "turn_ended":
      return {
        ...updateTurn(run, event),
        actions: event.status === "failed" ? actionsWithoutTurn(run, event) : run.actions,
      };
    case "text_delta":
    case "thought_delta":
    case "action_rejected":
    case "tool_call":
    case "approval_requested":
    case "approval_resolved":
    case "tool_result":
      return updateTurn(run, event);
    case "agreement_checked":
      return { ...run, agreement: event };
    case "summary":
      return { ...run, summary: event };
    case "claims":
      return { ...run, claims: event };
    case "ranking":
      return { ...run, ranking: event };
    case "vote":
      return { ...run, votes: [...run.votes, event] };
    case "speaker_selected":
      return {
        ...run,
        speakerSelections: [...run.speakerSelections.filter((one) => one.turn !== event.turn), event],
      };
    case "reference_summarized":
      return { ...run, referenceSummaries: withEvent(run.referenceSummaries, event) };
    case "run_ended":
      return { ...run, status: event.status };
    case "instructions_sent":
      return run;
    default:
      return ignoreUnknownEvent(event, run);
  }
}

/** Ignore event types that a newer server may send. */
function ignoreUnknownEvent(_: never, run: Run): Run {
  return run;
}

function updateTurn(run: Run, event: TurnEvent): Run {
  const key = formatTurnKey(event);
  const place = run.turns.findIndex((turn) => turn.key === key);
  const before = run.turns[place];
  if (!before) return { ...run, turns: [...run.turns, applyTurnEvent(emptyTurn(run.id, event, event.at), event)] };
  if (before.versions > 1) return run; // events replayed for it describe its first version
  return { ...run, turns: run.turns.with(place, applyTurnEvent(before, event)) };
}

function turnTextLength(run: Run, turnKey: TurnKey): number {
  return run.turns.find((turn) => turn.key === formatTurnKey(turnKey))?.text.length ?? 0;
}

/** Drop the actions of a turn that restarts or fails. */
function actionsWithoutTurn(run: Run, turnKey: TurnKey): readonly PerformedAction[] {
  const key = formatTurnKey(turnKey);
  return run.actions.some((one) => formatTurnKey(one) === key)
    ? run.actions.filter((one) => formatTurnKey(one) !== key)
    : run.actions;
}

/** Merge stored messages of a run. They win over events, except for live turns. */
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
      const { rejectedActions, regeneration } = known;
      turns[place] = { ...turn, rejectedActions, regeneration };
    }
  }
  return { ...run, userMessage: asked, turns };
}

/** Merge stored non-text events of a run. They may also arrive again by the stream. */
export function withNotice(run: Run, event: Notice | ReferenceSummarized): Run {
  return event.type === "notice"
    ? { ...run, notices: withEvent(run.notices, event) }
    : { ...run, referenceSummaries: withEvent(run.referenceSummaries, event) };
}

/** Insert an event by its number, without duplicates. */
function withEvent<E extends { seq: number }>(some: readonly E[], event: E): readonly E[] {
  if (some.some((one) => one.seq === event.seq)) return some;
  return [...some, event].sort((a, b) => a.seq - b.seq);
}

/** Update the run's status from the list of live runs. A finished run becomes live only after a retry. */
export function withServerRun(run: Run, stored: ServerRun): Run {
  const { mode, regenerates, revision } = stored;
  const isOver = run.status !== null && !isLiveRun(run) && revision <= run.revision;
  return { ...run, mode, regenerate: regenerates, revision, status: isOver ? run.status : stored.status };
}

/** Reset a run, because its events will be replayed from the start. */
export function resetRun({ id, userMessage: asked, mode, regenerate, status, revision }: Run): Run {
  return { ...emptyRun(id), userMessage: asked, mode, regenerate, status, revision };
}

export const isLiveRun = (run: Run): boolean => run.status === "running" || run.status === "waiting";

const SPECS_BY_STAGE = Object.values(MODES).flatMap((spec) => spec.stages.map((stage) => [stage, spec] as const));
/** The specs of stages that only one mode has. Other stages do not tell the mode of a run. */
const SPEC_BY_STAGE: ReadonlyMap<string, ModeSpec> = new Map(
  SPECS_BY_STAGE.filter(([stage]) => SPECS_BY_STAGE.filter(([other]) => other === stage).length === 1),
);

/** The spec of a run's mode, also when only its messages are known. */
export function runSpec(run: Run, discussion: Discussion): ModeSpec {
  const staged = run.turns.map((turn) => SPEC_BY_STAGE.get(turn.stage)).find(Boolean);
  if (staged) return staged;
  const isOfDiscussion = run.turns.length === 0 || modeSpec(discussion.mode).private_threads;
  return modeSpec(run.mode ?? (isOfDiscussion ? discussion.mode : null));
}

/** The turns of a stage, with placeholders for those still to come, so that the layout does not jump. */
export function withWaitingTurns(
  turns: readonly Turn[],
  run: Run,
  discussion: Discussion,
  { stage, round }: { stage: string; round: number } = { stage: "answer", round: 0 },
): readonly Turn[] {
  // The user message has the recipients.
  if (!isLiveRun(run) || !run.userMessage) return turns;
  const known = new Set(turns.map((turn) => turn.key));
  const missing = expectedSpeakers(run, discussion)
    .map((participant) => ({ participant, stage, round }))
    .filter((key) => !known.has(formatTurnKey(key)));
  return missing.length ? [...turns, ...missing.map((key) => emptyTurn(run.id, key, 0))] : turns;
}

/** All participants that the message is addressed to. */
function expectedSpeakers(run: Run, discussion: Discussion): readonly string[] {
  const participants = run.participants.length ? run.participants : discussion.participants;
  const recipients = run.userMessage?.visible_to;
  const addressed = participants.filter((one) => one.active !== false && (!recipients || recipients.includes(one.id)));
  return (modeSpec(run.mode).only_first ? addressed.slice(0, 1) : addressed).map((one) => one.id);
}

/** Kinds of notices that are still shown when the answer is complete: another model may have given it. */
const LASTING_KINDS: ReadonlySet<Notice["kind"]> = new Set(["fallback", "lead_replaced", "missing", "tools"]);

/** Notices about one participant while it answers: waiting, retrying, or a fallback model. */
export function turnNotices(run: Run, turn: Turn): readonly Notice[] {
  const own = run.notices.filter((one) => one.participant === turn.participant);
  if (!own.length) return own;
  const turns = participantTurns(run, turn);
  const its = own.filter((notice) => findNoticeTurn(turns, notice)?.key === turn.key);
  const isTrying = isLiveTurn(turn) && !turn.text && !turn.thoughts;
  return isTrying
    ? its.slice(-1)
    : its.filter((one) => LASTING_KINDS.has(one.kind) || (isLiveTurn(turn) && one.kind === "still_working"));
}

/** All turns of a participant; one that has not started comes last. */
function participantTurns(run: Run, turn: Turn): readonly Turn[] {
  const own = run.turns.filter((one) => one.participant === turn.participant);
  return own.some((one) => one.key === turn.key) ? own : [...own, turn];
}

/** Find the turn that a notice belongs to: the first that had not ended at that time. */
function findNoticeTurn(turns: readonly Turn[], notice: Notice): Turn | undefined {
  return turns.find(({ endedAt: until }) => until === null || until >= notice.at) ?? turns.at(-1);
}
