/**
 * What marked makes of a segment, in the words of this page.
 *
 * Left out, because a growing text cannot have it: links by reference, which may be defined after they are used. Left out,
 * because answers are not written in it: raw HTML (only a line break is read) and code by indentation.
 */

import { Lexer, Tokenizer, getDefaults, type MarkedOptions, type Token, type Tokens } from "marked";
import { Budget, isTangled, pieces } from "./bounds.ts";
import { formulaAt, nextDollar } from "./formulas.ts";

export interface FormulaToken {
  type: "formula";
  raw: string;
  source: string;
  display: boolean;
}
interface NoteToken {
  type: "note" | "noted";
  raw: string;
  label: string;
  tokens: Token[];
}

/** A line of dashes further below than this makes no heading. */
const LONG_HEADING = 200;
const BREAK = /^<br[ \t]*\/?>/i;
const NOTE = /^\[\^([\w-]{1,32})\](?![(:])/;
const NOTED = /^ {0,3}\[\^([\w-]{1,32})\]:[ \t]*([^\n]*(?:\n(?! {0,3}\[\^)[^\n]+)*)(?:\n|$)/;

class PageTokenizer extends Tokenizer {
  override code(): undefined {}
  override html(): undefined {}
  override def(): undefined {}
  override reflink(): undefined {}

  override fences(src: string): Tokens.Code | undefined {
    // marked takes any token here, and has no other place for blocks of one's own that is as cheap.
    return (this.#formula(src) ?? this.#noted(src) ?? super.fences(src)) as Tokens.Code | undefined;
  }

  override lheading(src: string): Tokens.Heading | undefined {
    // Its rule looks through all that follows, and is asked at every line of an item.
    return super.lheading(
      src.length > LONG_HEADING ? src.slice(0, src.lastIndexOf("\n", LONG_HEADING) + 1) : src,
    );
  }

  override escape(src: string): Tokens.Escape | undefined {
    return (this.#inline(src) ?? super.escape(src)) as Tokens.Escape | undefined;
  }

  override tag(src: string): Tokens.Tag | undefined {
    const raw = BREAK.exec(src)?.[0];
    return raw === undefined ? undefined : ({ type: "br", raw } as unknown as Tokens.Tag);
  }

  override inlineText(src: string): Tokens.Text | undefined {
    const end = nextDollar(src);
    return super.inlineText(end > 0 ? src.slice(0, end) : src);
  }

  #formula(src: string): FormulaToken | null {
    const start = /^ {0,3}(?=\$\$|\\\[)/.exec(src)?.[0];
    const found = start === undefined ? null : formulaAt(src.slice(start.length));
    const rest = found && /^[ \t]*(?:\n|$)/.exec(src.slice((start ?? "").length + found.raw.length))?.[0];
    if (!found || rest === undefined || rest === null) return null;
    return { type: "formula", ...found, raw: start + found.raw + rest };
  }

  #noted(src: string): NoteToken | null {
    const [raw, label = "", text = ""] = NOTED.exec(src) ?? [];
    return raw === undefined ? null : { type: "noted", raw, label, tokens: this.lexer.inline(text) };
  }

  #inline(src: string): FormulaToken | NoteToken | null {
    const formula = formulaAt(src);
    if (formula !== null) return { type: "formula", ...formula };
    const [raw, label = ""] = NOTE.exec(src) ?? [];
    return raw === undefined ? null : { type: "note", raw, label, tokens: [] };
  }
}

/** Reads what is within blocks only as far as that can be afforded; the rest is text. */
class PageLexer extends Lexer {
  readonly #budget = new Budget();

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    for (const piece of pieces(src)) {
      if (this.#budget.affords(piece)) super.inlineTokens(piece, tokens);
      else tokens.push({ type: "text", raw: piece, text: piece });
    }
    return tokens;
  }
}

const OPTIONS: MarkedOptions = { ...getDefaults(), tokenizer: new PageTokenizer() };

/** Read a segment; null where its lines are too tangled to be read. */
export function lexed(text: string): Token[] | null {
  if (isTangled(text)) return null;
  try {
    return new PageLexer(OPTIONS).lex(text);
  } catch {
    return null; // marked itself stumbles over some nestings, such as a quoted list that is continued lazily
  }
}
