/** A markdown document that grows: its settled blocks never change again, and only its open end is read anew. */

import { rendered, renderedCode } from "./render.ts";
import { Splitter, type Segment } from "./splitter.ts";

/** The block that may still change: HTML, or the code of a fence that is still open, in pieces of which only the last grows. */
export type Tail =
  { kind: "html"; html: string } | { kind: "code"; language: string; pieces: readonly string[] };

const COMPARED = 256;

export class GrowingDocument {
  /** The HTML of each block that has settled. */
  readonly settled: string[] = [];
  /** How many characters were read by the lexer so far: what the document has cost. */
  lexed = 0;
  #splitter = new Splitter();
  #text = "";
  #ended = false;

  /** Take in a longer version of the text; tell whether it was one, for otherwise another document is needed. */
  grow(text: string): boolean {
    if (text === this.#text) return true;
    if (this.#ended || !continues(text, this.#text)) return false;
    // A line may end in two characters of which only the first is here.
    const from = this.#text.endsWith("\r") ? this.#text.length - 1 : this.#text.length;
    const to = text.endsWith("\r") ? text.length - 1 : text.length;
    this.#text = text;
    this.#settle(this.#splitter.feed(lines(text.slice(from, to))));
    return true;
  }

  /** Settle all of it: nothing more will come. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#text.endsWith("\r")) this.#settle(this.#splitter.feed("\n"));
    this.#settle(this.#splitter.end());
  }

  /** Read the open end. */
  tail(): Tail | null {
    const open = this.#splitter.open;
    if (open === null) return null;
    if (open.kind === "markdown") return { kind: "html", html: this.#html(open) };
    return { kind: "code", language: open.fence.language, pieces: open.pieces };
  }

  #settle(segments: readonly Segment[]): void {
    for (const segment of segments) this.settled.push(this.#html(segment));
  }

  #html(segment: Segment): string {
    if (segment.kind === "fence") {
      const code = segment.pieces.join("");
      return renderedCode(dedented(code, segment.fence.indent), segment.fence.language);
    }
    this.lexed += segment.text.length;
    return rendered(segment.text);
  }
}

/** Tell whether a text goes on from another by its beginning and where the other ended: to compare all would be quadratic. */
function continues(text: string, known: string): boolean {
  const near = Math.max(known.length - COMPARED, 0);
  return text.startsWith(known.slice(0, COMPARED)) && text.startsWith(known.slice(near), near);
}

function lines(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}

function dedented(code: string, indent: number): string {
  return indent === 0 ? code : code.replace(new RegExp(`^[ \\t]{1,${indent}}`, "gm"), "");
}
