/**
 * Line types of Markdown: a line is classified by its start alone, never by what follows. And where to cut a text that
 * has grown too long.
 */

/** A longer line is classified before its end arrives. It is text, an item or a quote. */
export const LONG_LINE = 1_000;

export interface Fence {
  /** Indentation, which is removed from each line of the fence. */
  indent: number;
  mark: string;
  language: string;
}

const FENCE = /^([ \t]*)(`{3,}|~{3,})(.{0,200})$/;
const ITEM = /^ {0,3}([-+*]|\d{1,9}[.)])(?=[ \t]|$)/;
const INTERRUPTING_ITEM = /^ {0,3}(?:[-+*]|1[.)])[ \t]+\S/;
const HEADING = /^ {0,3}#{1,6}(?:[ \t]|$)/;
const RULE = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/;
const QUOTE = /^ {0,3}>/;
const FOOTNOTE = /^ {0,3}\[\^[\w-]{1,32}\]:/;
const DELIMITERS = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const MARKERS = /^(?:[ \t]*(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t])))+/;
const MAX_DEPTH = 24;

export const isBlank = (line: string): boolean => line.trim() === "";
export const isIndented = (line: string): boolean => line.startsWith(" ") || line.startsWith("\t");
export const isHeading = (line: string): boolean => line.length <= LONG_LINE && HEADING.test(line);
export const isRule = (line: string): boolean => RULE.test(line);
export const isQuote = (line: string): boolean => QUOTE.test(line);

export function parseFenceStart(line: string): Fence | null {
  const [, space = "", mark = "", info = ""] = FENCE.exec(line) ?? [];
  if (mark === "" || space.length > 3 || (mark.startsWith("`") && info.includes("`"))) return null;
  return { indent: space.length, mark, language: info.trim().split(/\s/, 1)[0] ?? "" };
}

/** Return the fence that a list line opens, at any depth, also right after the item's marker. */
export function parseFenceStartInItem(line: string): Fence | null {
  const content = line.replace(/^[ \t]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)?/, "");
  const fence = parseFenceStart(content);
  return fence && { ...fence, indent: line.length - content.length };
}

export function isFenceEnd(line: string, fence: Fence): boolean {
  const [, space = "", mark = "", info = ""] = FENCE.exec(line) ?? [];
  return mark.startsWith(fence.mark) && space.length <= fence.indent + 3 && info.trim() === "";
}

/** Return what distinguishes one list from another: its bullet, or the delimiter after its numbers. */
export function itemMark(line: string): string | null {
  return isRule(line) ? null : (ITEM.exec(line)?.[1]?.at(-1) ?? null);
}

/** Return whether a row of dashes below this line makes a table of the two. */
export function isTableStart(above: string, line: string): boolean {
  return line.includes("|") && above.includes("|") && DELIMITERS.test(line);
}

/** Return the end marker of a display formula that a line opens and does not close. */
export function openFormulaCloser(line: string): string | null {
  const start = line.trim();
  const closer = start.startsWith("$$") ? "$$" : start.startsWith("\\[") ? "\\]" : null;
  return closer !== null && !start.includes(closer, 2) ? closer : null;
}

/** Return whether a line starts a new block even after a paragraph that could continue. */
export function interruptsParagraph(line: string): boolean {
  return (
    isHeading(line) ||
    isQuote(line) ||
    FOOTNOTE.test(line) ||
    INTERRUPTING_ITEM.test(line) ||
    (isRule(line) && !line.trim().startsWith("-")) ||
    parseFenceStart(line) !== null ||
    openFormulaCloser(line) !== null
  );
}

/** Return whether a line is nested too deeply to be worth parsing. */
export function isTooDeep(line: string): boolean {
  const markers = MARKERS.exec(line)?.[0] ?? "";
  return markers.length >= MAX_DEPTH && markers.replace(/[ \t\d]/g, "").length >= MAX_DEPTH;
}

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
