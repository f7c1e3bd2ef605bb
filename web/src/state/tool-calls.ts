/** Calls of tools in a turn: what was called at which place of the answer, who is asked about it, and what came of it. */

import {
  REFUSED,
  type ApprovalGiven,
  type ApprovalWanted,
  type ToolCalled,
  type ToolReturned,
  type ToolUse,
} from "../api/types.ts";

/** A question that waits for a person: until when, and whether the call may have been made before. */
interface Question {
  readonly until: number;
  readonly again: boolean;
}

interface Result {
  readonly content: string;
  readonly isError: boolean;
  readonly seconds: number;
}

export interface Call {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  /** How much of the turn's text was there by then. */
  readonly said: number;
  readonly question: Question | null;
  readonly result: Result | null;
}

export type CallEvent = ToolCalled | ApprovalWanted | ApprovalGiven | ToolReturned;

/** Let the calls of a turn go on, whose text is so far `text`. */
export function calling(calls: readonly Call[], event: CallEvent, text: string): readonly Call[] {
  const change = (some: Partial<Call>) =>
    calls.map((one) => (one.id === event.call_id ? { ...one, ...some } : one));
  switch (event.type) {
    case "tool_call": {
      const { call_id: id, name, arguments: given } = event;
      return [...calls, { id, name, arguments: given, said: text.length, question: null, result: null }];
    }
    case "approval_wanted":
      return change({ question: { until: event.at + event.seconds, again: event.again } });
    case "approval":
      return change({ question: null });
    case "tool_result":
      return change({ question: null, result: resultOf(event) });
  }
}

/** Read the calls that were kept with a text. */
export function keptCalls(uses: readonly ToolUse[] | null | undefined, text: string): readonly Call[] {
  return (uses ?? []).map((use) => ({
    id: use.call_id,
    name: use.name,
    arguments: use.arguments,
    said: unitsOf(text, use.said),
    question: null,
    result: resultOf(use),
  }));
}

function resultOf({ content, is_error, seconds }: ToolReturned | ToolUse): Result {
  return { content, isError: is_error, seconds };
}

/** The server counts characters; a string here counts those outside of the basic plane twice. */
function unitsOf(text: string, characters: number): number {
  let units = 0;
  for (const character of text) {
    if (characters-- <= 0) break;
    units += character.length;
  }
  return units;
}

/** An answer in its order: words, and the calls between them. */
export type Piece = { readonly text: string } | { readonly call: Call };

export function pieces(text: string, calls: readonly Call[]): readonly Piece[] {
  const found: Piece[] = [];
  let place = 0;
  for (const call of calls) {
    if (text.slice(place, call.said).trim()) found.push({ text: text.slice(place, call.said) });
    place = Math.max(place, call.said);
    found.push({ call });
  }
  if (text.slice(place).trim()) found.push({ text: text.slice(place) });
  return found;
}

/** Tell whether a person did not allow the call: nothing went wrong then. */
export const isRefused = ({ result }: Call): boolean =>
  result !== null && result.isError && result.content === REFUSED;

/** How a call stands, in words; without a result it is over only where its turn is. */
export function standing(call: Call, isLive: boolean): string {
  const { question, result } = call;
  if (isRefused(call)) return "refused";
  if (result) return result.isError ? "failed" : `done in ${result.seconds.toFixed(1)} s`;
  if (!isLive) return "cut off";
  return question ? "waiting for you" : "running";
}

/** Write arguments so that they can be read; what is no JSON stays as it is. */
export function readable(given: string): string {
  try {
    return JSON.stringify(JSON.parse(given), null, 2);
  } catch {
    return given;
  }
}
