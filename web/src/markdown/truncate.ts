/** Finds where to cut a segment that has grown too long. */

const SENTENCE_END = /[.!?:;…。！？]["'”’)\]]*\s+/g;
const WHITESPACE = /\s+/g;

/** Find the best place between two lengths: after a line, or after a sentence of text, outside any markup. */
export function findCutPosition(text: string, soft: number, hard: number, byLines: boolean): number {
  const head = text.slice(0, hard);
  const line = head.lastIndexOf("\n") + 1;
  if (byLines && line > soft) return line;
  return (
    lastUnnestedMatch(head, SENTENCE_END, soft) ??
    lastUnnestedMatch(head, WHITESPACE, soft) ??
    (line > soft ? line : wholeCharLength(head))
  );
}

/** Find the end of the last match at which no code, emphasis, formula or bracket is open. */
function lastUnnestedMatch(text: string, pattern: RegExp, from: number): number | null {
  const counts = { "`": 0, "*": 0, $: 0, "[": 0, "]": 0 };
  let counted = 0;
  let found: number | null = null;
  for (const match of text.matchAll(pattern)) {
    const end = match.index + match[0].length;
    for (; counted < end; counted++) {
      const mark = text[counted] as keyof typeof counts;
      if (mark in counts) counts[mark]++;
    }
    const even = counts["`"] % 2 === 0 && counts["*"] % 2 === 0 && counts.$ % 2 === 0;
    if (end > from && end < text.length && even && counts["["] === counts["]"]) found = end;
  }
  return found;
}

/** Return the length of a text without a split surrogate pair at its end. */
function wholeCharLength(text: string): number {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last < 0xdc00 ? text.length - 1 : text.length;
}
