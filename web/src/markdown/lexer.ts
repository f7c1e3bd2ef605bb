/**
 * Converts the tokens of marked to the tokens of this renderer.
 *
 * Not supported, because a growing text cannot have it: reference links, which may be defined after their use. Not
 * supported, because answers do not use it: raw HTML (except line breaks) and indented code.
 */

import { Lexer, Tokenizer, getDefaults, type MarkedOptions, type Token, type Tokens } from "marked";
import { LexBudget, isTooComplex, splitByMarks } from "./bounds.ts";
import { parseFormula, nextDollar } from "./formulas.ts";

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
    return (this.#blockFormula(src) ?? this.#footnoteDefinition(src) ?? super.fences(src)) as
      Tokens.Code | undefined;
  }

  override lheading(src: string): Tokens.Heading | undefined {
    // Its rule scans all following text, and runs at every line of an item.
    return super.lheading(
      src.length > MAX_HEADING_LOOKAHEAD
        ? src.slice(0, src.lastIndexOf("\n", MAX_HEADING_LOOKAHEAD) + 1)
        : src,
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
