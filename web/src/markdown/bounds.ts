/**
 * What reading a text may cost. marked looks ahead from every mark, so a text made of marks costs it the square of their
 * number and more. Here they are counted before it reads, in one pass and from the text alone, so that what is too much
 * for it is the same however the text arrived.
 */

import { cutPlace } from "./truncate.ts";
import { isDeep } from "./lines.ts";

const MARKS = "*_~`[]<>!\\$&|";
/** What marked takes for the name in an address of mail, and looks through from each of its letters. */
const NAME = /[\w.!#$%&'*+/=?`{|}~-]/;
const CODES = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
const IS_MARK = CODES.map((char) => MARKS.includes(char));
const IN_NAME = CODES.map((char) => NAME.test(char));
const AT = "@".charCodeAt(0);

/** A text with more marks is read in pieces, which end between these lengths. */
const MANY_MARKS = 100;
const PIECE = [100, 200] as const;
/** The squares of the marks in all that is read of a segment. */
const MOST_WORK = 40_000;
/** No list has more items in a segment: lines that are shorter than that are no list. */
const MANY_LINES = 1_100;
/** How often quotes may begin, deepen and end within a segment: marked reads them again each time. */
const MANY_TURNS = 60;

/** Count the places at which marked stops and looks ahead. */
export function marks(text: string): number {
  let count = 0;
  let name = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (IS_MARK[code]) count += 1;
    if (code === AT) count += name + 1;
    name = IN_NAME[code] ? name + 1 : 0;
  }
  return count;
}

/** Cut a text that has too many marks into pieces that are read one by one; almost every text is one piece. */
export function pieces(text: string): string[] {
  if (marks(text) <= MANY_MARKS) return [text];
  const found: string[] = [];
  let rest = text;
  while (rest.length > PIECE[1]) {
    const end = cutPlace(rest, ...PIECE, false);
    found.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  return [...found, rest];
}

/** What may still be spent on the texts of a segment. */
export class Budget {
  #left = MOST_WORK;

  /** Take what reading a text costs, if that much is left. */
  affords(text: string): boolean {
    const cost = marks(text) ** 2;
    if (cost > this.#left) return false;
    this.#left -= cost;
    return true;
  }
}

/** Tell whether the lines of a segment nest or alternate as nobody writes, so that its blocks are not worth reading. */
export function isTangled(text: string): boolean {
  const lines = text.split("\n");
  if (lines.length > MANY_LINES || lines.some(isDeep)) return true;
  const depths = lines.map(quotes);
  return depths.filter((depth, place) => place > 0 && depth !== depths[place - 1]).length > MANY_TURNS;
}

/** Count the quotes in which a line stands. */
function quotes(line: string): number {
  return (/^[-+*\d.) \t>]{1,100}/.exec(line)?.[0] ?? "").split(">").length;
}
