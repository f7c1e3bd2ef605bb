/** Tool calls of a turn: position in the answer, pending approvals and results. */

import {
  REFUSED,
  type ApprovalResolved,
  type ApprovalRequested,
  type ToolCalled,
  type ToolReturned,
  type ToolUse,
} from "../api/types.ts";

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
