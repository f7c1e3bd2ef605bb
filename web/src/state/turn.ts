/** One participant's turn, whether it was read from the discussion or is being heard right now. */

import type { ActionDropped, Event, Message, TurnEnded } from "../api/types.ts";
import { calling, keptCalls, type Call } from "./tool-calls.ts";

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
  /** The id of the message that the turn became; null while it is not known. */
  readonly message: string | null;
  readonly name: string | null;
  readonly attempt: number;
  readonly model: string | null;
  readonly usage: TurnEnded["usage"] | null;
  readonly cost: number | null;
  readonly fault: TurnEnded["fault"];
  readonly firstToken: number | null;
  readonly latency: number | null;
  readonly finish: TurnEnded["finish"];
  readonly audience: readonly string[] | null;
  readonly dropped: readonly ActionDropped[];
  readonly calls: readonly Call[];
  /** Which of its versions is shown, and how many there are. */
  readonly version: number;
  readonly versions: number;
  /** Whether a person wrote the version that is shown. */
  readonly edited: boolean;
  /** Another version of it that is being given, or that failed to be. */
  readonly renewal: Turn | null;
  /** When it began; once it is over, when it ended. */
  readonly at: number;
  /** When it ended; null while it goes on. */
  readonly until: number | null;
}

export interface Seat {
  participant: string;
  stage: string;
  round: number;
}

export function keyOf({ participant, stage, round }: Seat): string {
  return `${stage}/${round}/${participant}`;
}

/** A turn of which nothing is known but who has it. */
export function fresh(run: string, seat: Seat, at: number): Turn {
  return {
    key: keyOf(seat),
    run,
    participant: seat.participant,
    stage: seat.stage,
    round: seat.round,
    role: seat.stage === "synthesis" ? "synthesis" : "assistant",
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
    firstToken: null,
    latency: null,
    finish: null,
    audience: null,
    dropped: [],
    calls: [],
    version: 1,
    versions: 1,
    edited: false,
    renewal: null,
    at,
    until: null,
  };
}

/** Read a turn from the message that it became. */
export function turnOf(message: Message): Turn | null {
  const { run, participant, role } = message;
  if (!run || !participant || (role !== "assistant" && role !== "synthesis")) return null;
  const seat = { participant, stage: message.stage ?? "answer", round: message.round };
  return {
    ...fresh(run, seat, message.created_at),
    role,
    state: message.status,
    text: message.content,
    thoughts: message.thoughts,
    message: message.id,
    name: message.name,
    attempt: 1,
    model: message.model,
    usage: message.usage,
    cost: message.cost,
    fault: message.fault,
    finish: message.finish,
    until: message.created_at,
    firstToken: message.first_token,
    latency: message.latency,
    audience: message.audience,
    calls: keptCalls(message.tools, message.content),
    version: message.version,
    versions: message.versions,
    edited: message.edited,
  };
}

/** Put a version that was just given in the place of the one before. */
export function renewed(turn: Turn, version: Turn): Turn {
  const { text, thoughts, state, model, usage, cost, firstToken, latency, finish, dropped, calls } = version;
  const words = { text, thoughts, state, model, usage, cost, firstToken, latency, finish, dropped, calls };
  const versions = turn.versions + 1;
  return { ...turn, ...words, fault: null, version: versions, versions, edited: false, renewal: null };
}

type TurnEvent = Extract<Event, Seat>;

/** Let a turn go on by what happened in it. */
export function heard(turn: Turn, event: TurnEvent): Turn {
  switch (event.type) {
    case "turn_started":
      return {
        ...fresh(turn.run, turn, event.at),
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
    case "action_dropped":
      return { ...turn, dropped: [...turn.dropped, event] };
    case "tool_call":
    case "approval_wanted":
    case "approval":
    case "tool_result":
      return { ...turn, state: "speaking", calls: calling(turn.calls, event, turn.text) };
    case "turn_ended":
      return {
        ...turn,
        at: event.at,
        state: event.status,
        text: event.message.text,
        thoughts: event.message.thoughts,
        model: event.model,
        usage: event.usage,
        cost: event.cost,
        fault: event.fault,
        firstToken: event.first_token,
        latency: event.latency,
        finish: event.finish,
        until: event.at,
      };
    default:
      return turn;
  }
}

export const isLive = (turn: Turn): boolean => turn.state === "waiting" || turn.state === "speaking";
/** The calls that wait for a person. */
export const questions = (turn: Turn): readonly Call[] =>
  isLive(turn) ? turn.calls.filter((call) => call.question) : [];
/** Tell whether it, or another version of it that is being made, waits for a person. */
export const isAsking = (turn: Turn): boolean => questions(turn.renewal ?? turn).length > 0;
/** The attempt at another version of it that came to nothing: what broke off is no version either. */
export const lostRenewal = ({ renewal }: Turn): Turn | null =>
  renewal?.state === "failed" || renewal?.state === "partial" ? renewal : null;
export const isAnswered = (turn: Turn): boolean => turn.state === "completed" || turn.state === "partial";
