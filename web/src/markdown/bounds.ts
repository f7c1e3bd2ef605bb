/**
 * What reading a text may cost. marked looks ahead from every mark, so a text made of marks costs it the square of their
 * number and more. Here they are counted before it reads, in one pass and from the text alone, so that what is too much
 * for it is the same however the text arrived.
 */

import { findCutPosition } from "./truncate.ts";
import { isTooDeep } from "./lines.ts";

const MARK_CHARS = "*_~`[]<>!\\$&|";
/** What marked takes for the name in an address of mail, and looks through from each of its letters. */
const EMAIL_NAME = /[\w.!#$%&'*+/=?`{|}~-]/;
const ASCII_CHARS = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
const IS_MARK = ASCII_CHARS.map((char) => MARK_CHARS.includes(char));
const IS_EMAIL_NAME = ASCII_CHARS.map((char) => EMAIL_NAME.test(char));
const AT_SIGN = "@".charCodeAt(0);

/** A text with more marks is read in pieces, which end between these lengths. */
const MAX_MARKS = 100;
const PIECE_LENGTHS = [100, 200] as const;
/** The squares of the marks in all that is read of a segment. */
const MAX_WORK = 40_000;
/** No list has more items in a segment: lines that are shorter than that are no list. */
const MAX_LINES = 1_100;
/** How often quotes may begin, deepen and end within a segment: marked reads them again each time. */
const MAX_QUOTE_CHANGES = 60;

/** Count the places at which marked stops and looks ahead. */
export function countMarks(text: string): number {
  let count = 0;
  let name = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (IS_MARK[code]) count += 1;
    if (code === AT_SIGN) count += name + 1;
    name = IS_EMAIL_NAME[code] ? name + 1 : 0;
  }
  return count;
}

/** Cut a text that has too many marks into pieces that are read one by one; almost every text is one piece. */
export function splitByMarks(text: string): string[] {
  if (countMarks(text) <= MAX_MARKS) return [text];
  const found: string[] = [];
  let rest = text;
  while (rest.length > PIECE_LENGTHS[1]) {
    const end = findCutPosition(rest, ...PIECE_LENGTHS, false);
    found.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  return [...found, rest];
}

/** What may still be spent on the texts of a segment. */
export class LexBudget {
  #remaining = MAX_WORK;

  /** Take what reading a text costs, if that much is left. */
  trySpend(text: string): boolean {
    const cost = countMarks(text) ** 2;
    if (cost > this.#remaining) return false;
    this.#remaining -= cost;
    return true;
  }
}

/** Tell whether the lines of a segment nest or alternate as nobody writes, so that its blocks are not worth reading. */
export function isTooComplex(text: string): boolean {
  const lines = text.split("\n");
  if (lines.length > MAX_LINES || lines.some(isTooDeep)) return true;
  const depths = lines.map(quoteDepth);
  return depths.filter((depth, place) => place > 0 && depth !== depths[place - 1]).length > MAX_QUOTE_CHANGES;
}

/** Count the quotes in which a line stands. */
function quoteDepth(line: string): number {
  return (/^[-+*\d.) \t>]{1,100}/.exec(line)?.[0] ?? "").split(">").length;
}
