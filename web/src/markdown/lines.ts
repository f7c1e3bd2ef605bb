/** What a single line of markdown can be; a line is judged by its beginning alone, never by what follows it. */

/** A line longer than this is judged by its beginning, before its end is known; it is text, an item or a quote. */
export const LONG_LINE = 1_000;

export interface Fence {
  /** How far it is indented: as much is taken from each of its lines. */
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

/** Return the fence that a line of a list opens, however deep it is, also right after the item's mark. */
export function parseFenceStartInItem(line: string): Fence | null {
  const content = line.replace(/^[ \t]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)?/, "");
  const fence = parseFenceStart(content);
  return fence && { ...fence, indent: line.length - content.length };
}

export function isFenceEnd(line: string, fence: Fence): boolean {
  const [, space = "", mark = "", info = ""] = FENCE.exec(line) ?? [];
  return mark.startsWith(fence.mark) && space.length <= fence.indent + 3 && info.trim() === "";
}

/** Return what tells one list from another: its bullet, or what stands after its numbers. */
export function itemMark(line: string): string | null {
  return isRule(line) ? null : (ITEM.exec(line)?.[1]?.at(-1) ?? null);
}

/** Tell whether a row of dashes under this line makes a table of the two. */
export function isTableStart(above: string, line: string): boolean {
  return line.includes("|") && above.includes("|") && DELIMITERS.test(line);
}

/** Return what ends the display formula that a line opens and does not end. */
export function openFormulaCloser(line: string): string | null {
  const start = line.trim();
  const closer = start.startsWith("$$") ? "$$" : start.startsWith("\\[") ? "\\]" : null;
  return closer !== null && !start.includes(closer, 2) ? closer : null;
}

/** Tell whether a line begins something new even where the line above is a paragraph that could go on. */
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

/** Tell whether a line nests deeper than anybody writes: reading it would cost more than it is worth. */
export function isTooDeep(line: string): boolean {
  const markers = MARKERS.exec(line)?.[0] ?? "";
  return markers.length >= MAX_DEPTH && markers.replace(/[ \t\d]/g, "").length >= MAX_DEPTH;
}
