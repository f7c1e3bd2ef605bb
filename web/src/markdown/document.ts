/** Growing Markdown document: settled blocks never change, only the open end is parsed again. */

import { renderMarkdown, renderCode } from "./render.ts";
import { MarkdownSplitter, type Segment } from "./splitter.ts";

/** The open block: HTML, or an open code fence in pieces of which only the last grows. */
export type Tail = { kind: "html"; html: string } | { kind: "code"; language: string; pieces: readonly string[] };

const COMPARE_CHARS = 256;

export class GrowingDocument {
  /** HTML of each settled block. */
  readonly settledBlocks: string[] = [];
  /** Number of characters that the lexer has read, as a measure of cost. */
  lexedChars = 0;
  #splitter = new MarkdownSplitter();
  #text = "";
  #isEnded = false;

  /** Append a longer version of the text. Returns false if it is not a continuation; then a new document is needed. */
  grow(text: string): boolean {
    if (text === this.#text) return true;
    if (this.#isEnded || !isContinuation(text, this.#text)) return false;
    // A line may end in two characters (CRLF) of which only the first has arrived.
    const from = this.#text.endsWith("\r") ? this.#text.length - 1 : this.#text.length;
    const to = text.endsWith("\r") ? text.length - 1 : text.length;
    this.#text = text;
    this.#addSegments(this.#splitter.feed(normalizeNewlines(text.slice(from, to))));
    return true;
  }

  /** Settle everything: no more text will arrive. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (this.#text.endsWith("\r")) this.#addSegments(this.#splitter.feed("\n"));
    this.#addSegments(this.#splitter.end());
  }

  /** Parse the open end. */
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

/** Return whether a text continues another. Compares only start and old end; comparing all is quadratic. */
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
