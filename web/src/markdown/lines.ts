/** Line types of Markdown. A line is classified by its start alone, never by what follows. */

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
