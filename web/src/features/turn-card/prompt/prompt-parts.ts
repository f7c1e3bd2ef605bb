/** Parts of a prompt: labels, and token shares by origin. */

import type { PromptPartView } from "../../../api/types.ts";

export type PromptOrigin = PromptPartView["origin"];

export const ORIGIN_LABELS: Record<PromptOrigin, { words: string; tells: string }> = {
  persona: { words: "Persona", tells: "The persona of this participant" },
  mode: { words: "Mode", tells: "Rules of the mode" },
  project: { words: "Project", tells: "Description and knowledge of the project" },
  language: { words: "Language", tells: "Language of the answer" },
  memory: { words: "Memory", tells: "Memory of the channel" },
  message: { words: "Messages", tells: "From you and the others" },
  own: { words: "Own answers", tells: "Earlier answers of this participant" },
  reference: { words: "Reference", tells: "Referenced message" },
  reference_summary: { words: "Summary", tells: "Summary of another discussion" },
  file: { words: "File", tells: "Attached file" },
  instructions: { words: "Instruction", tells: "Task for this turn" },
  call: { words: "Tool call", tells: "Tool and arguments" },
  result: { words: "Tool result", tells: "Output of the tool, or its beginning" },
  filler: { words: "Filler", tells: "Placeholder where a message is required" },
};

interface TokenShare {
  readonly origin: PromptOrigin;
  readonly tokens: number;
  /** Share of all tokens, from 0 to 1. */
  readonly fraction: number;
}

/** Sum the tokens by origin, largest first. */
export function tokenShares(parts: readonly PromptPartView[]): readonly TokenShare[] {
  const sums = new Map<PromptOrigin, number>();
  for (const { origin, tokens } of parts) sums.set(origin, (sums.get(origin) ?? 0) + tokens);
  const all = parts.reduce((sum, { tokens }) => sum + tokens, 0) || 1;
  return [...sums]
    .map(([origin, tokens]) => ({ origin, tokens, fraction: tokens / all }))
    .sort((a, b) => b.tokens - a.tokens);
}

/** Format the whole prompt as text, for copying. */
export function formatPrompt(parts: readonly PromptPartView[]): string {
  return parts
    .map(({ role, origin, name, text, size }) => {
      const head = [role, ORIGIN_LABELS[origin].words.toLowerCase(), name].filter(Boolean).join(" · ");
      return `[${head}]\n${text || (size === null ? "" : `(a file of ${size} bytes)`)}`;
    })
    .join("\n\n");
}
