/** State of one participant's turn and its tool calls, from a stored message or from live events. */

import {
  type ActionRejected,
  type ApprovalRequested,
  type ApprovalResolved,
  type Event,
  type Message,
  REFUSED,
  type ToolCalled,
  type ToolReturned,
  type ToolUse,
  type TurnEnded,
} from "../api/types.ts";

type TurnState = "waiting" | "speaking" | TurnEnded["status"];

export interface Turn {
  readonly key: string;
  readonly run: string;
  readonly participant: string;
  readonly stage: string;
  readonly round: number;
  readonly role: "assistant" | "synthesis";
  readonly state: TurnState;
  readonly text: string;
  readonly thoughts: string;
  /** Id of the turn's message; null while unknown. */
  readonly message: string | null;
  readonly name: string | null;
  readonly attempt: number;
  readonly model: string | null;
  readonly usage: TurnEnded["usage"] | null;
  readonly cost: number | null;
  readonly fault: TurnEnded["fault"];
  readonly firstTokenSeconds: number | null;
  readonly latencySeconds: number | null;
  readonly finish: TurnEnded["finish_reason"];
  readonly visibleTo: readonly string[] | null;
  readonly rejectedActions: readonly ActionRejected[];
  readonly calls: readonly ToolCallState[];
  /** The shown version, and the number of versions. */
  readonly version: number;
  readonly versions: number;
  /** Whether a user wrote the shown version. */
  readonly edited: boolean;
  /** A regeneration in progress, or one that failed. */
  readonly regeneration: Turn | null;
  /** When the turn started; after the end, when it ended. */
  readonly at: number;
  /** When the turn ended; null while it is live. */
  readonly endedAt: number | null;
}

export interface TurnKey {
  participant: string;
  stage: string;
  round: number;
}

export function formatTurnKey({ participant, stage, round }: TurnKey): string {
  return `${stage}/${round}/${participant}`;
}

/** An empty turn of a participant. */
export function emptyTurn(run: string, turnKey: TurnKey, at: number): Turn {
  return {
    key: formatTurnKey(turnKey),
    run,
    participant: turnKey.participant,
    stage: turnKey.stage,
    round: turnKey.round,
    role: turnKey.stage === "synthesis" ? "synthesis" : "assistant",
    state: "waiting",
    text: "",
    thoughts: "",
    message: null,
    name: null,
    attempt: 0,
    model: null,
    usage: null,
    cost: null,
    fault: null,
    firstTokenSeconds: null,
    latencySeconds: null,
    finish: null,
    visibleTo: null,
    rejectedActions: [],
    calls: [],
    version: 1,
    versions: 1,
    edited: false,
    regeneration: null,
    at,
    endedAt: null,
  };
}

/** Build a turn from its stored message. */
export function turnFromMessage(message: Message): Turn | null {
  const { run, participant, role } = message;
  if (!run || !participant || (role !== "assistant" && role !== "synthesis")) return null;
  const turnKey = { participant, stage: message.stage ?? "answer", round: message.round };
  return {
    ...emptyTurn(run, turnKey, message.created_at),
    role,
    state: message.status,
    text: message.content,
    thoughts: message.thoughts,
    message: message.id,
    name: message.name,
    attempt: 1,
    model: message.model,
    usage: message.usage,
    cost: message.cost_usd,
    fault: message.fault,
    finish: message.finish_reason,
    endedAt: message.created_at,
    firstTokenSeconds: message.first_token_seconds,
    latencySeconds: message.latency_seconds,
    visibleTo: message.visible_to,
    calls: readStoredCalls(message.tools, message.content),
    version: message.version,
    versions: message.versions,
    edited: message.edited,
  };
}

/** Replace the shown version with a new one. */
export function withVersion(turn: Turn, version: Turn): Turn {
  const versions = turn.versions + 1;
  return {
    ...turn,
    text: version.text,
    thoughts: version.thoughts,
    state: version.state,
    model: version.model,
    usage: version.usage,
    cost: version.cost,
    firstTokenSeconds: version.firstTokenSeconds,
    latencySeconds: version.latencySeconds,
    finish: version.finish,
    rejectedActions: version.rejectedActions,
    calls: version.calls,
    fault: null,
    version: versions,
    versions,
    edited: false,
    regeneration: null,
  };
}

export type TurnEvent = Extract<Event, TurnKey>;

/** Reduce an event of the turn. */
export function applyTurnEvent(turn: Turn, event: TurnEvent): Turn {
  switch (event.type) {
    case "turn_started":
      return {
        ...emptyTurn(turn.run, turn, event.at),
        message: turn.message,
        versions: turn.versions,
        version: turn.version,
        edited: turn.edited,
        state: "speaking",
        attempt: event.attempt,
        model: event.model,
      };
    case "text_delta":
      return { ...turn, state: "speaking", text: turn.text + event.text };
    case "thought_delta":
      return { ...turn, state: "speaking", thoughts: turn.thoughts + event.text };
    case "text_retracted":
      return { ...turn, text: "" };
    case "action_rejected":
      return { ...turn, rejectedActions: [...turn.rejectedActions, event] };
    case "tool_call":
    case "approval_requested":
    case "approval_resolved":
    case "tool_result":
      return { ...turn, state: "speaking", calls: applyToolCallEvent(turn.calls, event, turn.text) };
    case "turn_ended":
      return {
        ...turn,
        at: event.at,
        state: event.status,
        text: event.message.text,
        thoughts: event.message.thoughts,
        model: event.model,
        usage: event.usage,
        cost: event.cost_usd,
        fault: event.fault,
        firstTokenSeconds: event.first_token_seconds,
        latencySeconds: event.latency_seconds,
        finish: event.finish_reason,
        endedAt: event.at,
      };
    default:
      return turn;
  }
}

export const isLiveTurn = (turn: Turn): boolean => turn.state === "waiting" || turn.state === "speaking";
/** Calls that wait for approval. */
export const pendingApprovals = (turn: Turn): readonly ToolCallState[] =>
  isLiveTurn(turn) ? turn.calls.filter((call) => call.pendingApproval) : [];
/** Return whether the turn, or its regeneration, waits for approval. */
export const isAwaitingApproval = (turn: Turn): boolean => pendingApprovals(turn.regeneration ?? turn).length > 0;
/** The regeneration that failed or was interrupted. It is not a version. */
export const failedRegeneration = ({ regeneration }: Turn): Turn | null =>
  regeneration?.state === "failed" || regeneration?.state === "partial" ? regeneration : null;
export const isAnswered = (turn: Turn): boolean => turn.state === "completed" || turn.state === "partial";

/** A pending approval: its deadline, and whether the call may already have run. */
interface PendingApproval {
  readonly expiresAt: number;
  readonly isRepeated: boolean;
}

interface ToolCallResult {
  readonly content: string;
  readonly isError: boolean;
  readonly seconds: number;
}

export interface ToolCallState {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  /** Length of the turn's text when the call was made. */
  readonly textOffset: number;
  readonly pendingApproval: PendingApproval | null;
  readonly result: ToolCallResult | null;
}

export type ToolCallEvent = ToolCalled | ApprovalRequested | ApprovalResolved | ToolReturned;

/** Reduce a tool event. `text` is the turn's text so far. */
export function applyToolCallEvent(
  calls: readonly ToolCallState[],
  event: ToolCallEvent,
  text: string,
): readonly ToolCallState[] {
  const change = (some: Partial<ToolCallState>) =>
    calls.map((one) => (one.id === event.call_id ? { ...one, ...some } : one));
  switch (event.type) {
    case "tool_call": {
      const { call_id: id, name, arguments: given } = event;
      return [...calls, { id, name, arguments: given, textOffset: text.length, pendingApproval: null, result: null }];
    }
    case "approval_requested":
      return change({
        pendingApproval: { expiresAt: event.at + event.timeout_seconds, isRepeated: event.repeated },
      });
    case "approval_resolved":
      return change({ pendingApproval: null });
    case "tool_result":
      return change({ pendingApproval: null, result: toCallResult(event) });
  }
}

/** Parse the calls that are stored with a message. */
export function readStoredCalls(uses: readonly ToolUse[] | null | undefined, text: string): readonly ToolCallState[] {
  return (uses ?? []).map((use) => ({
    id: use.call_id,
    name: use.name,
    arguments: use.arguments,
    textOffset: toUtf16Offset(text, use.text_offset),
    pendingApproval: null,
    result: toCallResult(use),
  }));
}

function toCallResult({ content, is_error, seconds }: ToolReturned | ToolUse): ToolCallResult {
  return { content, isError: is_error, seconds };
}

/** The server counts code points; JavaScript strings count UTF-16 units. */
function toUtf16Offset(text: string, characters: number): number {
  let units = 0;
  for (const character of text) {
    if (characters-- <= 0) break;
    units += character.length;
  }
  return units;
}

/** An answer in order: pieces of text and the calls between them. */
export type AnswerPart = { readonly text: string } | { readonly call: ToolCallState };

export function splitAtCalls(text: string, calls: readonly ToolCallState[]): readonly AnswerPart[] {
  const found: AnswerPart[] = [];
  let place = 0;
  for (const call of calls) {
    if (text.slice(place, call.textOffset).trim()) found.push({ text: text.slice(place, call.textOffset) });
    place = Math.max(place, call.textOffset);
    found.push({ call });
  }
  if (text.slice(place).trim()) found.push({ text: text.slice(place) });
  return found;
}

/** Return whether a user denied the call. That is not a failure. */
export const isRefused = ({ result }: ToolCallState): boolean =>
  result !== null && result.isError && result.content === REFUSED;

/** Status label of a call. Without a result, a call is over only when its turn is. */
export function describeCallStatus(call: ToolCallState, isLive: boolean): string {
  const { pendingApproval: question, result } = call;
  if (isRefused(call)) return "denied";
  if (result) return result.isError ? "failed" : `done in ${result.seconds.toFixed(1)} s`;
  if (!isLive) return "cut off";
  return question ? "waiting for you" : "running";
}

/** Format arguments for display. Text that is not JSON stays unchanged. */
export function formatArguments(given: string): string {
  try {
    return JSON.stringify(JSON.parse(given), null, 2);
  } catch {
    return given;
  }
}
