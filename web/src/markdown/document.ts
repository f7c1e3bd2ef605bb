/** Growing Markdown document: settled blocks never change, only the open end is parsed again. */

import { renderMarkdown, renderCode } from "./render.ts";
import {
  findCutPosition,
  LONG_LINE,
  isFenceEnd,
  parseFenceStart,
  parseFenceStartInItem,
  openFormulaCloser,
  interruptsParagraph,
  isBlank,
  isHeading,
  isIndented,
  isQuote,
  isRule,
  isTableStart,
  itemMark,
  type Fence,
} from "./lines.ts";

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

type Segment = { kind: "markdown"; text: string } | { kind: "fence"; fence: Fence; pieces: readonly string[] };

type OpenList = { kind: "list"; mark: string; blank: boolean; fence: Fence | null };
type OpenFence = { kind: "fence"; fence: Fence; pieces: string[] };
type OpenBlock =
  | { kind: "none" }
  | { kind: "text"; above: string }
  | { kind: "table"; head: string }
  | { kind: "formula"; closer: string }
  | { kind: "quote" }
  | OpenList
  | OpenFence;

/** Role of a line: part of the open block, its last line, or part of no block. */
type LineResult = "kept" | "last" | "dropped";

/** Length limits of a segment: past the first, it ends at the next good place; past the second, anywhere. */
const LENGTH_LIMITS = {
  text: [2_000, 4_000],
  formula: [2_000, 4_000],
  quote: [4_000, 8_000],
  list: [4_000, 8_000],
  table: [4_000, 8_000],
} as const;
/** An open fence is emitted in pieces of about this length. */
const FENCE_PIECE_LENGTH = 4_000;

/**
 * Splits growing Markdown into segments that can be parsed one by one.
 *
 * The end of a segment depends only on the text up to there, neither on how the text arrived nor on later text. So
 * any chunking gives the same segments, and a finished segment is never parsed again.
 * An open segment has a maximum length, except for a fence, whose lines need no parsing.
 */
class MarkdownSplitter {
  /** The open segment and the unclassified text. Everything before is dropped. */
  #text = "";
  /** Position up to which lines are classified. */
  #position = 0;
  #isInLongLine = false;
  #openBlock: OpenBlock = { kind: "none" };
  /** Prefix that makes the open segment parseable by itself: the head of a continued table. */
  #tableHead = "";
  #endedSegments: Segment[] = [];

  /** Append text and return the segments that ended. */
  feed(text: string): Segment[] {
    this.#text += text;
    while (this.#readLine()) this.#enforceLimit();
    return this.#endedSegments.splice(0);
  }

  /** End the text and return the remaining segments. */
  end(): Segment[] {
    while (this.#position < this.#text.length) {
      this.#takeLine(this.#text.slice(this.#position), this.#text.length);
      this.#enforceLimit();
      while (this.#readLine()) this.#enforceLimit();
    }
    this.#closeSegment(this.#text.length);
    return this.#endedSegments.splice(0);
  }

  /** The open segment so far. */
  get openSegment(): Segment | null {
    if (this.#openBlock.kind === "fence") return this.#fenceSegment(this.#openBlock, this.#text);
    return isBlank(this.#text) ? null : { kind: "markdown", text: this.#tableHead + this.#text };
  }

  /** Classify one more line, or continue in a long one. Returns whether there was enough text. */
  #readLine(): boolean {
    const ahead = this.#text.slice(this.#position, this.#position + FENCE_PIECE_LENGTH);
    const end = ahead.indexOf("\n");
    if (this.#isInLongLine) {
      this.#position += end < 0 ? ahead.length : end + 1;
      this.#isInLongLine = end < 0;
      return ahead !== "";
    }
    if (end >= 0 && end <= LONG_LINE) {
      this.#takeLine(ahead.slice(0, end), this.#position + end + 1);
      return true;
    }
    if (ahead.length <= LONG_LINE) return false;
    this.#takeLine(`${ahead.slice(0, LONG_LINE)}…`, this.#position + LONG_LINE, true);
    return true;
  }

  #takeLine(line: string, next: number, long = false): void {
    // The line may end the open block before it; then positions shift to the front.
    const length = next - this.#position;
    const verdict = this.#classifyLine(line);
    this.#position += length;
    this.#isInLongLine = long;
    if (verdict === "last") this.#closeSegment(this.#position);
    if (verdict === "dropped") this.#dropBefore(this.#position);
  }

  /** Enforce the length limits: emit a piece of a fence, or cut the block and continue after the cut. */
  #enforceLimit(): void {
    const open = this.#openBlock;
    if (open.kind === "fence" && this.#position >= FENCE_PIECE_LENGTH) {
      open.pieces.push(this.#text.slice(0, this.#position));
      this.#dropBefore(this.#position);
    }
    if (open.kind === "fence" || open.kind === "none") return;
    const [soft, hard] = LENGTH_LIMITS[open.kind];
    if (this.#position <= hard) return;
    this.#closeSegment(findCutPosition(this.#text, soft, hard, open.kind !== "text"));
    this.#position = 0;
    this.#isInLongLine = false;
  }

  #dropBefore(end: number): void {
    this.#text = this.#text.slice(end);
    this.#position -= end;
  }

  /** End the open block at this position. */
  #closeSegment(end: number): void {
    const text = this.#text.slice(0, end);
    if (this.#openBlock.kind === "fence") this.#endedSegments.push(this.#fenceSegment(this.#openBlock, text));
    else if (!isBlank(text)) this.#endedSegments.push({ kind: "markdown", text: this.#tableHead + text });
    this.#dropBefore(end);
    this.#openBlock = { kind: "none" };
    this.#tableHead = "";
  }

  #fenceSegment(open: OpenFence, rest: string): Segment {
    return { kind: "fence", fence: open.fence, pieces: rest ? [...open.pieces, rest] : open.pieces };
  }

  /** End the open block before this line, and open another. */
  #startBlock(open: OpenBlock, verdict: LineResult = "kept", head = ""): LineResult {
    this.#closeSegment(this.#position);
    this.#openBlock = open;
    this.#tableHead = head;
    return verdict;
  }

  #classifyLine(line: string): LineResult {
    const open = this.#openBlock;
    switch (open.kind) {
      case "none":
        return this.#classifyStart(line);
      case "fence":
        return this.#continueFence(line, open);
      case "list":
        return this.#continueList(line, open);
      case "table":
        if (isBlank(line) || interruptsParagraph(line)) return this.#classifyStart(line);
        return this.#position > LENGTH_LIMITS.table[0] ? this.#startBlock({ ...open }, "kept", open.head) : "kept";
      case "quote":
        return isBlank(line) || (!isQuote(line) && interruptsParagraph(line)) ? this.#classifyStart(line) : "kept";
      case "formula":
        if (isBlank(line)) return this.#classifyStart(line);
        if (line.includes(open.closer)) this.#openBlock = { kind: "text", above: "" };
        return "kept";
      case "text":
        return this.#continueText(line, open.above);
    }
  }

  #classifyStart(line: string): LineResult {
    if (isBlank(line)) return this.#startBlock({ kind: "none" }, "dropped");
    const fence = parseFenceStart(line);
    if (fence !== null) return this.#startBlock({ kind: "fence", fence, pieces: [] }, "dropped");
    if (isHeading(line) || isRule(line)) return this.#startBlock({ kind: "text", above: "" }, "last");
    if (isQuote(line)) return this.#startBlock({ kind: "quote" });
    const mark = itemMark(line);
    if (mark !== null) return this.#startBlock(newOpenList(mark, line));
    const closer = openFormulaCloser(line);
    return this.#startBlock(closer === null ? { kind: "text", above: line } : { kind: "formula", closer });
  }

  #continueText(line: string, above: string): LineResult {
    if (isBlank(line) || interruptsParagraph(line)) return this.#classifyStart(line);
    const table = isTableStart(above, line);
    this.#openBlock = table ? { kind: "table", head: `${above}\n${line}\n` } : { kind: "text", above: line };
    return "kept";
  }

  #continueFence(line: string, open: OpenFence): LineResult {
    if (!isFenceEnd(line, open.fence)) return "kept";
    this.#closeSegment(this.#position);
    return "dropped";
  }

  #continueList(line: string, open: OpenList): LineResult {
    if (isBlank(line)) {
      open.blank = true;
      return "kept";
    }
    if (open.fence !== null && isIndented(line)) return this.#continueItemFence(line, open, open.fence);
    const mark = itemMark(line);
    if (mark === open.mark && this.#position > LENGTH_LIMITS.list[0]) return this.#startBlock(newOpenList(mark, line));
    const goesOn = mark === open.mark || isIndented(line);
    if (!goesOn && (mark !== null || open.blank || interruptsParagraph(line))) return this.#classifyStart(line);
    open.blank = false;
    open.fence = goesOn ? parseFenceStartInItem(line) : null;
    return "kept";
  }

  /** A long fence in a list item continues as a separate fence. */
  #continueItemFence(line: string, open: OpenList, fence: Fence): LineResult {
    open.blank = false;
    if (isFenceEnd(line, fence)) open.fence = null;
    else if (this.#position > LENGTH_LIMITS.list[0]) return this.#startBlock({ kind: "fence", fence, pieces: [] });
    return "kept";
  }
}

function newOpenList(mark: string, line: string): OpenList {
  return { kind: "list", mark, blank: false, fence: parseFenceStartInItem(line) };
}
