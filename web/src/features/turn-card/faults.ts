/** What a failed answer says: what happened in three words, what to do, and which button does it. */

import type { Fault } from "../../api/types.ts";

type Remedy = "retry" | "swap" | "key";

interface FaultDescription {
  readonly title: string;
  readonly words: string;
  /** What to do, where the words do not say so themselves; empty where they do. */
  readonly advice: string;
  /** The most helpful first. */
  readonly remedies: readonly Remedy[];
}

const FAULT_KINDS: Record<
  Fault["kind"],
  readonly [title: string, todo: string, remedies: readonly Remedy[]]
> = {
  auth: [
    "The key is missing or was refused",
    "Add or check the key, then try again.",
    ["key", "retry", "swap"],
  ],
  rate_limit: ["Too many requests", "Wait a moment, then try again.", ["retry", "swap"]],
  overloaded: ["Too busy right now", "Try again in a moment, or ask another model.", ["retry", "swap"]],
  content_blocked: [
    "Blocked by content rules",
    "Ask in other words, or ask another model.",
    ["swap", "retry"],
  ],
  context_length: ["Too long for this model", "Choose a model that reads more.", ["swap", "retry"]],
  timeout: ["No answer in time", "Try again, or ask a faster model.", ["retry", "swap"]],
  network: [
    "The connection failed",
    "Check that it runs and can be reached, then try again.",
    ["retry", "swap"],
  ],
  bad_response: ["Unreadable answer", "Try again, or ask another model.", ["retry", "swap"]],
  api_error: ["The provider failed", "Try again, or ask another model.", ["retry", "swap"]],
};
const ADVICE_PATTERN = /\b(try|choose|check|send|ask|raise|wait|add|set)\b/i;

export function describeFault(fault: Fault | null): FaultDescription {
  const [title, todo, remedies] = FAULT_KINDS[fault?.kind ?? "api_error"] ?? FAULT_KINDS.api_error;
  const words = fault?.message ?? "It gave no answer.";
  return { title, words, advice: waitAdvice(fault) || (ADVICE_PATTERN.test(words) ? "" : todo), remedies };
}

function waitAdvice(fault: Fault | null): string {
  const seconds = fault?.retry_after;
  if (!seconds) return "";
  return seconds < 90
    ? `It asks to wait ${Math.ceil(seconds)} s.`
    : `It asks to wait ${Math.ceil(seconds / 60)} minutes.`;
}
