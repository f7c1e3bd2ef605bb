/** A prompt taken apart: what each part is in plain words, and how the tokens are shared between them. */

import type { PromptPartView } from "../../../api/types.ts";

export type PromptOrigin = PromptPartView["origin"];

export const ORIGIN_LABELS: Record<PromptOrigin, { words: string; tells: string }> = {
  persona: { words: "Persona", tells: "Who it is asked to be" },
  mode: { words: "Rules of the table", tells: "How this kind of discussion goes" },
  project: { words: "Project", tells: "What the project knows" },
  language: { words: "Language", tells: "In which language to answer" },
  memory: { words: "Memory", tells: "What it remembers of the channel" },
  message: { words: "What was said", tells: "By you and by the others" },
  own: { words: "Its own words", tells: "What it said itself before" },
  reference: { words: "Reference", tells: "What was referred to" },
  recap: { words: "Recap", tells: "The points of another discussion" },
  file: { words: "File", tells: "What was attached" },
  instruction: { words: "Instruction", tells: "What it was asked to do now" },
  call: { words: "Call of a tool", tells: "What it called, and with what" },
  result: { words: "Result of a tool", tells: "What it was told then, or its beginning" },
  filler: { words: "Filler", tells: "Stands where something must stand" },
};

interface TokenShare {
  readonly origin: PromptOrigin;
  readonly tokens: number;
  /** Of all tokens, from 0 to 1. */
  readonly fraction: number;
}

/** Add up the tokens by where they come from, the largest share first. */
export function tokenShares(parts: readonly PromptPartView[]): readonly TokenShare[] {
  const sums = new Map<PromptOrigin, number>();
  for (const { origin, tokens } of parts) sums.set(origin, (sums.get(origin) ?? 0) + tokens);
  const all = parts.reduce((sum, { tokens }) => sum + tokens, 0) || 1;
  return [...sums]
    .map(([origin, tokens]) => ({ origin, tokens, fraction: tokens / all }))
    .sort((a, b) => b.tokens - a.tokens);
}

/** Write all of it as one text, to be copied. */
export function formatPrompt(parts: readonly PromptPartView[]): string {
  return parts
    .map(({ role, origin, name, text, size }) => {
      const head = [role, ORIGIN_LABELS[origin].words.toLowerCase(), name].filter(Boolean).join(" · ");
      return `[${head}]\n${text || (size === null ? "" : `(a file of ${size} bytes)`)}`;
    })
    .join("\n\n");
}
