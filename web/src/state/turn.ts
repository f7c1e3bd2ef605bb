/** State of one participant's turn, from a stored message or from live events. */

import type { ActionRejected, Event, Message, TurnEnded } from "../api/types.ts";
import { applyToolCallEvent, readStoredCalls, type ToolCallState } from "./tool-calls.ts";

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
