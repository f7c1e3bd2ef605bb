/** History of the user's own messages (Ctrl+Up and Ctrl+Down). The current draft is at the end. */

export interface InputHistory {
  /** Steps back; 0 is the current draft. */
  readonly stepsBack: number;
  readonly draft: string;
}

export const HISTORY_START: InputHistory = { stepsBack: 0, draft: "" };

/** Step back (1) or forward (-1); null at the end. `sentTexts` is newest first. */
export function stepHistory(
  history: InputHistory,
  step: 1 | -1,
  sentTexts: readonly string[],
  words: string,
): { history: InputHistory; words: string } | null {
  const back = history.stepsBack + step;
  if (back < 0 || back > sentTexts.length) return null;
  const draft = history.stepsBack === 0 ? words : history.draft;
  return { history: { stepsBack: back, draft }, words: back === 0 ? draft : (sentTexts[back - 1] ?? "") };
}

/** The user's messages, newest first, without duplicates. */
export function messageHistory(messages: readonly string[]): readonly string[] {
  return [...new Set([...messages].reverse())];
}
