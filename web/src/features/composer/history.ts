/** One's own messages, gone through by Ctrl+Up and Ctrl+Down; what was being written waits at the end. */

export interface History {
  /** How far back one is; 0 is what is being written. */
  readonly back: number;
  readonly draft: string;
}

export const PRESENT: History = { back: 0, draft: "" };

/** Go one step back (1) or forth (-1); null where there is nothing further. `said` is newest first. */
export function stepped(
  history: History,
  step: 1 | -1,
  said: readonly string[],
  words: string,
): { history: History; words: string } | null {
  const back = history.back + step;
  if (back < 0 || back > said.length) return null;
  const draft = history.back === 0 ? words : history.draft;
  return { history: { back, draft }, words: back === 0 ? draft : (said[back - 1] ?? "") };
}

/** What a person said, newest first, each once. */
export function saidBy(messages: readonly string[]): readonly string[] {
  return [...new Set([...messages].reverse())];
}
