/** One's own messages, gone through by Ctrl+Up and Ctrl+Down; what was being written waits at the end. */

export interface InputHistory {
  /** How far back one is; 0 is what is being written. */
  readonly stepsBack: number;
  readonly draft: string;
}

export const HISTORY_START: InputHistory = { stepsBack: 0, draft: "" };

/** Go one step back (1) or forth (-1); null where there is nothing further. `said` is newest first. */
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

/** What a person said, newest first, each once. */
export function messageHistory(messages: readonly string[]): readonly string[] {
  return [...new Set([...messages].reverse())];
}
