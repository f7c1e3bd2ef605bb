/** Labels for failed answers: a short title, advice, and the buttons that help. */

import type { Fault } from "../../api/types.ts";

type Remedy = "retry" | "swap" | "key";

interface FaultDescription {
  readonly title: string;
  readonly words: string;
  /** What to do; empty if the message already says so. */
  readonly advice: string;
  /** The most helpful first. */
  readonly remedies: readonly Remedy[];
}

const FAULT_KINDS: Record<Fault["kind"], readonly [title: string, todo: string, remedies: readonly Remedy[]]> = {
  auth: ["The key is missing or was refused", "Add or check the key, then retry.", ["key", "retry", "swap"]],
  rate_limit: ["Too many requests", "Wait a moment, then retry.", ["retry", "swap"]],
  overloaded: ["Too busy right now", "Retry in a moment, or use another model.", ["retry", "swap"]],
  content_blocked: ["Blocked by content rules", "Rephrase the message, or use another model.", ["swap", "retry"]],
  context_length: ["Too long for this model", "Choose a model with a larger context window.", ["swap", "retry"]],
  timeout: ["No answer in time", "Retry, or use a faster model.", ["retry", "swap"]],
  network: ["The connection failed", "Check that the server runs and can be reached, then retry.", ["retry", "swap"]],
  bad_response: ["Unreadable answer", "Retry, or use another model.", ["retry", "swap"]],
  api_error: ["The provider failed", "Retry, or use another model.", ["retry", "swap"]],
};
const ADVICE_PATTERN = /\b(try|retry|choose|check|send|ask|raise|wait|add|set)\b/i;

export function describeFault(fault: Fault | null): FaultDescription {
  const [title, todo, remedies] = FAULT_KINDS[fault?.kind ?? "api_error"] ?? FAULT_KINDS.api_error;
  const words = fault?.message ?? "The model gave no answer.";
  return { title, words, advice: waitAdvice(fault) || (ADVICE_PATTERN.test(words) ? "" : todo), remedies };
}

function waitAdvice(fault: Fault | null): string {
  const seconds = fault?.retry_after;
  if (!seconds) return "";
  return seconds < 90
    ? `The provider asks to wait ${Math.ceil(seconds)} s.`
    : `The provider asks to wait ${Math.ceil(seconds / 60)} minutes.`;
}
