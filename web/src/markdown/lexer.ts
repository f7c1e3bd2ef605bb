/**
 * Converts the tokens of marked to the tokens of this renderer.
 *
 * Not supported, because a growing text cannot have it: reference links, which may be defined after their use. Not
 * supported, because answers do not use it: raw HTML (except line breaks) and indented code.
 */

import { Lexer, Tokenizer, getDefaults, type MarkedOptions, type Token, type Tokens } from "marked";
import { findCutPosition, isTooDeep } from "./lines.ts";

export interface FormulaToken {
  type: "formula";
  raw: string;
  source: string;
  display: boolean;
}
interface FootnoteToken {
  type: "note" | "noted";
  raw: string;
  label: string;
  tokens: Token[];
}

/** A line of dashes more than this many characters below does not make a heading. */
const MAX_HEADING_LOOKAHEAD = 200;
const LINE_BREAK = /^<br[ \t]*\/?>/i;
const FOOTNOTE_REFERENCE = /^\[\^([\w-]{1,32})\](?![(:])/;
const FOOTNOTE_DEFINITION = /^ {0,3}\[\^([\w-]{1,32})\]:[ \t]*([^\n]*(?:\n(?! {0,3}\[\^)[^\n]+)*)(?:\n|$)/;

class PageTokenizer extends Tokenizer {
  override code(): undefined {}
  override html(): undefined {}
  override def(): undefined {}
  override reflink(): undefined {}

  override fences(src: string): Tokens.Code | undefined {
    // marked accepts any token here, and has no other place for custom blocks that is as cheap.
    return (this.#blockFormula(src) ?? this.#footnoteDefinition(src) ?? super.fences(src)) as Tokens.Code | undefined;
  }

  override lheading(src: string): Tokens.Heading | undefined {
    // Its rule scans all following text, and runs at every line of an item.
    return super.lheading(
      src.length > MAX_HEADING_LOOKAHEAD ? src.slice(0, src.lastIndexOf("\n", MAX_HEADING_LOOKAHEAD) + 1) : src,
    );
  }

  override escape(src: string): Tokens.Escape | undefined {
    return (this.#inlineToken(src) ?? super.escape(src)) as Tokens.Escape | undefined;
  }

  override tag(src: string): Tokens.Tag | undefined {
    const raw = LINE_BREAK.exec(src)?.[0];
    return raw === undefined ? undefined : ({ type: "br", raw } as unknown as Tokens.Tag);
  }

  override inlineText(src: string): Tokens.Text | undefined {
    const end = nextDollar(src);
    return super.inlineText(end > 0 ? src.slice(0, end) : src);
  }

  #blockFormula(src: string): FormulaToken | null {
    const start = /^ {0,3}(?=\$\$|\\\[)/.exec(src)?.[0];
    const found = start === undefined ? null : parseFormula(src.slice(start.length));
    const rest = found && /^[ \t]*(?:\n|$)/.exec(src.slice((start ?? "").length + found.raw.length))?.[0];
    if (!found || rest === undefined || rest === null) return null;
    return { type: "formula", ...found, raw: start + found.raw + rest };
  }

  #footnoteDefinition(src: string): FootnoteToken | null {
    const [raw, label = "", text = ""] = FOOTNOTE_DEFINITION.exec(src) ?? [];
    return raw === undefined ? null : { type: "noted", raw, label, tokens: this.lexer.inline(text) };
  }

  #inlineToken(src: string): FormulaToken | FootnoteToken | null {
    const formula = parseFormula(src);
    if (formula !== null) return { type: "formula", ...formula };
    const [raw, label = ""] = FOOTNOTE_REFERENCE.exec(src) ?? [];
    return raw === undefined ? null : { type: "note", raw, label, tokens: [] };
  }
}

/** Parses inline content within the budget; the rest stays text. */
class PageLexer extends Lexer {
  readonly #budget = new LexBudget();

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    for (const piece of splitByMarks(src)) {
      if (this.#budget.trySpend(piece)) super.inlineTokens(piece, tokens);
      else tokens.push({ type: "text", raw: piece, text: piece });
    }
    return tokens;
  }
}

const LEXER_OPTIONS: MarkedOptions = { ...getDefaults(), tokenizer: new PageTokenizer() };

/** Parse a segment; null if its lines are too deeply nested. */
export function lexSegment(text: string): Token[] | null {
  if (isTooComplex(text)) return null;
  try {
    return new PageLexer(LEXER_OPTIONS).lex(text);
  } catch {
    return null; // marked fails on some nestings, such as a lazily continued list in a quote
  }
}

type Formula = Omit<FormulaToken, "type">;

const MAX_FORMULA_LENGTH = 2_000;
const DELIMITER_PAIRS = [
  ["$$", "$$", true],
  ["\\[", "\\]", true],
  ["\\(", "\\)", false],
] as const;

/** Return the formula at the start of a text: $…$, $$…$$, \(…\) or \[…\]. Amounts of money are not formulas. */
export function parseFormula(text: string): Formula | null {
  for (const [opener, closer, display] of DELIMITER_PAIRS)
    if (text.startsWith(opener)) return parseDelimited(text, opener, closer, display);
  return text.startsWith("$") ? parseDollarFormula(text) : null;
}

function parseDelimited(text: string, opener: string, closer: string, display: boolean): Formula | null {
  const end = text.slice(0, MAX_FORMULA_LENGTH).indexOf(closer, opener.length);
  const source = text.slice(opener.length, Math.max(end, 0));
  if (source.trim() === "" || /\n[ \t]*\n/.test(source)) return null;
  return { raw: text.slice(0, end + closer.length), source: source.trim(), display };
}

/** No space after the opening dollar; no space before and no digit after the closing one. Skips amounts of money. */
function parseDollarFormula(text: string): Formula | null {
  const [raw, source = ""] = /^\$((?:\\[^\n]|[^$\\\n]|\n(?![ \t]*\n)){1,4000})\$(?!\d)/.exec(text) ?? [];
  if (raw === undefined || /^\s|\s$/.test(source)) return null;
  if (/^[\d,.]/.test(source) && /\s/.test(source) && !/[\\^_={}+<>]/.test(source)) return null;
  return { raw, source, display: false };
}

/** Return the position of the next dollar that may open a formula, or 0. A dollar after a letter or digit may not. */
function nextDollar(text: string): number {
  let at = text.indexOf("$", 1);
  while (at > 0 && /[\w$\\]/.test(text.charAt(at - 1))) at = text.indexOf("$", at + 1);
  return Math.max(at, 0);
}

// Limits for the cost of parsing. marked looks ahead from every mark, so a text of marks costs at least the square of
// their number. The marks are counted beforehand, in one pass and from the text alone. So the limits apply in the same
// way however the text arrived.
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
class LexBudget {
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
