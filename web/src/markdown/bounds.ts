/**
 * Limits for the cost of parsing. marked looks ahead from every mark, so a text of marks costs at least the square of
 * their number. The marks are counted beforehand, in one pass and from the text alone. So the limits apply
 * in the same way however the text arrived.
 */

import { findCutPosition } from "./truncate.ts";
import { isTooDeep } from "./lines.ts";

const MARK_CHARS = "*_~`[]<>!\\$&|";
/** Characters that marked accepts in the local part of a mail address. It looks ahead from each of them. */
const EMAIL_NAME = /[\w.!#$%&'*+/=?`{|}~-]/;
const ASCII_CHARS = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
const IS_MARK = ASCII_CHARS.map((char) => MARK_CHARS.includes(char));
const IS_EMAIL_NAME = ASCII_CHARS.map((char) => EMAIL_NAME.test(char));
const AT_SIGN = "@".charCodeAt(0);

/** A text with more marks is parsed in pieces, which end between these lengths. */
const MAX_MARKS = 100;
const PIECE_LENGTHS = [100, 200] as const;
/** Limit for the sum of squared mark counts in a segment. */
const MAX_WORK = 40_000;
/** Maximum number of list items in a segment. */
const MAX_LINES = 1_100;
/** How often quotes may start, deepen and end in a segment, because marked parses them again each time. */
const MAX_QUOTE_CHANGES = 60;

/** Count the positions at which marked looks ahead. */
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

/** Split a text with too many marks into pieces. Almost every text is one piece. */
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

/** Remaining budget for the texts of a segment. */
export class LexBudget {
  #remaining = MAX_WORK;

  /** Spend the cost of a text, if enough is left. */
  trySpend(text: string): boolean {
    const cost = countMarks(text) ** 2;
    if (cost > this.#remaining) return false;
    this.#remaining -= cost;
    return true;
  }
}

/** Return whether the lines of a segment nest or alternate too much to be worth parsing. */
export function isTooComplex(text: string): boolean {
  const lines = text.split("\n");
  if (lines.length > MAX_LINES || lines.some(isTooDeep)) return true;
  const depths = lines.map(quoteDepth);
  return depths.filter((depth, place) => place > 0 && depth !== depths[place - 1]).length > MAX_QUOTE_CHANGES;
}

/** Count the quote levels of a line. */
function quoteDepth(line: string): number {
  return (/^[-+*\d.) \t>]{1,100}/.exec(line)?.[0] ?? "").split(">").length;
}
