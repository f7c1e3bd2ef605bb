/** A markdown document that grows: its settled blocks never change again, and only its open end is read anew. */

import { renderMarkdown, renderCode } from "./render.ts";
import { MarkdownSplitter, type Segment } from "./splitter.ts";

/** The block that may still change: HTML, or the code of a fence that is still open, in pieces of which only the last grows. */
export type Tail =
  { kind: "html"; html: string } | { kind: "code"; language: string; pieces: readonly string[] };

const COMPARE_CHARS = 256;

export class GrowingDocument {
  /** The HTML of each block that has settled. */
  readonly settledBlocks: string[] = [];
  /** How many characters were read by the lexer so far: what the document has cost. */
  lexedChars = 0;
  #splitter = new MarkdownSplitter();
  #text = "";
  #isEnded = false;

  /** Take in a longer version of the text; tell whether it was one, for otherwise another document is needed. */
  grow(text: string): boolean {
    if (text === this.#text) return true;
    if (this.#isEnded || !isContinuation(text, this.#text)) return false;
    // A line may end in two characters of which only the first is here.
    const from = this.#text.endsWith("\r") ? this.#text.length - 1 : this.#text.length;
    const to = text.endsWith("\r") ? text.length - 1 : text.length;
    this.#text = text;
    this.#addSegments(this.#splitter.feed(normalizeNewlines(text.slice(from, to))));
    return true;
  }

  /** Settle all of it: nothing more will come. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (this.#text.endsWith("\r")) this.#addSegments(this.#splitter.feed("\n"));
    this.#addSegments(this.#splitter.end());
  }

  /** Read the open end. */
  tail(): Tail | null {
    const open = this.#splitter.openSegment;
    if (open === null) return null;
    if (open.kind === "markdown") return { kind: "html", html: this.#renderSegment(open) };
    return { kind: "code", language: open.fence.language, pieces: open.pieces };
  }

  #addSegments(segments: readonly Segment[]): void {
    for (const segment of segments) this.settledBlocks.push(this.#renderSegment(segment));
  }

  #renderSegment(segment: Segment): string {
    if (segment.kind === "fence") {
      const code = segment.pieces.join("");
      return renderCode(dedent(code, segment.fence.indent), segment.fence.language);
    }
    this.lexedChars += segment.text.length;
    return renderMarkdown(segment.text);
  }
}

/** Tell whether a text goes on from another by its beginning and where the other ended: to compare all would be quadratic. */
function isContinuation(text: string, known: string): boolean {
  const near = Math.max(known.length - COMPARE_CHARS, 0);
  return text.startsWith(known.slice(0, COMPARE_CHARS)) && text.startsWith(known.slice(near), near);
}

function normalizeNewlines(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}

function dedent(code: string, indent: number): string {
  return indent === 0 ? code : code.replace(new RegExp(`^[ \\t]{1,${indent}}`, "gm"), "");
}
