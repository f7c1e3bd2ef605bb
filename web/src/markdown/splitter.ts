/**
 * Cuts growing markdown into segments that can be read one by one.
 *
 * Where a segment ends follows from the text up to there and from nothing else, neither from how the text arrived nor
 * from what comes later. So any cut of a text gives the same segments, and what has ended is never looked at again.
 * A segment that stays open is limited in length, except for a fence, whose lines need no reading.
 */

import { cutPlace } from "./truncate.ts";
import {
  LONG_LINE,
  closesFence,
  fenceOpened,
  fenceOpenedInItem,
  formulaOpened,
  interrupts,
  isBlank,
  isHeading,
  isIndented,
  isQuote,
  isRule,
  isTable,
  itemMark,
  type Fence,
} from "./lines.ts";

export type Segment =
  { kind: "markdown"; text: string } | { kind: "fence"; fence: Fence; pieces: readonly string[] };

type List = { kind: "list"; mark: string; blank: boolean; fence: Fence | null };
type Fenced = { kind: "fence"; fence: Fence; pieces: string[] };
type Open =
  | { kind: "none" }
  | { kind: "text"; above: string }
  | { kind: "table"; head: string }
  | { kind: "formula"; closer: string }
  | { kind: "quote" }
  | List
  | Fenced;

/** What becomes of a line: it belongs to what is open, or is also its last, or belongs to nothing. */
type Verdict = "kept" | "last" | "dropped";

/** How long a segment may grow: past the first it ends at the next good place, past the second wherever it is. */
const LIMITS = {
  text: [2_000, 4_000],
  formula: [2_000, 4_000],
  quote: [4_000, 8_000],
  list: [4_000, 8_000],
  table: [4_000, 8_000],
} as const;
/** An open fence is handed out in pieces of about this length. */
const PIECE = 4_000;

export class Splitter {
  /** What is open and what is not judged yet; everything before is forgotten. */
  #text = "";
  /** Up to where lines are judged. */
  #at = 0;
  #insideLongLine = false;
  #open: Open = { kind: "none" };
  /** What is put before the open segment so that it can be read by itself: the head of a table that goes on. */
  #head = "";
  #ended: Segment[] = [];

  /** Take in more text and return the segments that ended. */
  feed(text: string): Segment[] {
    this.#text += text;
    while (this.#step()) this.#limit();
    return this.#ended.splice(0);
  }

  /** Take what is there as the whole, and return the segments that were still open. */
  end(): Segment[] {
    while (this.#at < this.#text.length) {
      this.#take(this.#text.slice(this.#at), this.#text.length);
      this.#limit();
      while (this.#step()) this.#limit();
    }
    this.#close(this.#text.length);
    return this.#ended.splice(0);
  }

  /** The segment that may still change, as far as it is there. */
  get open(): Segment | null {
    if (this.#open.kind === "fence") return this.#fenced(this.#open, this.#text);
    return isBlank(this.#text) ? null : { kind: "markdown", text: this.#head + this.#text };
  }

  /** Judge one more line, or go on in a long one; tell whether there was enough for that. */
  #step(): boolean {
    const ahead = this.#text.slice(this.#at, this.#at + PIECE);
    const end = ahead.indexOf("\n");
    if (this.#insideLongLine) {
      this.#at += end < 0 ? ahead.length : end + 1;
      this.#insideLongLine = end < 0;
      return ahead !== "";
    }
    if (end >= 0 && end <= LONG_LINE) {
      this.#take(ahead.slice(0, end), this.#at + end + 1);
      return true;
    }
    if (ahead.length <= LONG_LINE) return false;
    this.#take(`${ahead.slice(0, LONG_LINE)}…`, this.#at + LONG_LINE, true);
    return true;
  }

  #take(line: string, next: number, long = false): void {
    // A line may end what is open before it: then everything moves to the front.
    const length = next - this.#at;
    const verdict = this.#judge(line);
    this.#at += length;
    this.#insideLongLine = long;
    if (verdict === "last") this.#close(this.#at);
    if (verdict === "dropped") this.#forget(this.#at);
  }

  /** Keep what is open within its limits: hand out a piece of a fence, or cut and begin anew after the cut. */
  #limit(): void {
    const open = this.#open;
    if (open.kind === "fence" && this.#at >= PIECE) {
      open.pieces.push(this.#text.slice(0, this.#at));
      this.#forget(this.#at);
    }
    if (open.kind === "fence" || open.kind === "none") return;
    const [soft, hard] = LIMITS[open.kind];
    if (this.#at <= hard) return;
    this.#close(cutPlace(this.#text, soft, hard, open.kind !== "text"));
    this.#at = 0;
    this.#insideLongLine = false;
  }

  #forget(end: number): void {
    this.#text = this.#text.slice(end);
    this.#at -= end;
  }

  /** End what is open at this place. */
  #close(end: number): void {
    const text = this.#text.slice(0, end);
    if (this.#open.kind === "fence") this.#ended.push(this.#fenced(this.#open, text));
    else if (!isBlank(text)) this.#ended.push({ kind: "markdown", text: this.#head + text });
    this.#forget(end);
    this.#open = { kind: "none" };
    this.#head = "";
  }

  #fenced(open: Fenced, rest: string): Segment {
    return { kind: "fence", fence: open.fence, pieces: rest ? [...open.pieces, rest] : open.pieces };
  }

  /** End what is open before this line, and open something else. */
  #begin(open: Open, verdict: Verdict = "kept", head = ""): Verdict {
    this.#close(this.#at);
    this.#open = open;
    this.#head = head;
    return verdict;
  }

  #judge(line: string): Verdict {
    const open = this.#open;
    switch (open.kind) {
      case "none":
        return this.#start(line);
      case "fence":
        return this.#inFence(line, open);
      case "list":
        return this.#inList(line, open);
      case "table":
        if (isBlank(line) || interrupts(line)) return this.#start(line);
        return this.#at > LIMITS.table[0] ? this.#begin({ ...open }, "kept", open.head) : "kept";
      case "quote":
        return isBlank(line) || (!isQuote(line) && interrupts(line)) ? this.#start(line) : "kept";
      case "formula":
        if (isBlank(line)) return this.#start(line);
        if (line.includes(open.closer)) this.#open = { kind: "text", above: "" };
        return "kept";
      case "text":
        return this.#inText(line, open.above);
    }
  }

  #start(line: string): Verdict {
    if (isBlank(line)) return this.#begin({ kind: "none" }, "dropped");
    const fence = fenceOpened(line);
    if (fence !== null) return this.#begin({ kind: "fence", fence, pieces: [] }, "dropped");
    if (isHeading(line) || isRule(line)) return this.#begin({ kind: "text", above: "" }, "last");
    if (isQuote(line)) return this.#begin({ kind: "quote" });
    const mark = itemMark(line);
    if (mark !== null) return this.#begin(list(mark, line));
    const closer = formulaOpened(line);
    return this.#begin(closer === null ? { kind: "text", above: line } : { kind: "formula", closer });
  }

  #inText(line: string, above: string): Verdict {
    if (isBlank(line) || interrupts(line)) return this.#start(line);
    const table = isTable(above, line);
    this.#open = table ? { kind: "table", head: `${above}\n${line}\n` } : { kind: "text", above: line };
    return "kept";
  }

  #inFence(line: string, open: Fenced): Verdict {
    if (!closesFence(line, open.fence)) return "kept";
    this.#close(this.#at);
    return "dropped";
  }

  #inList(line: string, open: List): Verdict {
    if (isBlank(line)) {
      open.blank = true;
      return "kept";
    }
    if (open.fence !== null && isIndented(line)) return this.#inItemsFence(line, open, open.fence);
    const mark = itemMark(line);
    if (mark === open.mark && this.#at > LIMITS.list[0]) return this.#begin(list(mark, line));
    const goesOn = mark === open.mark || isIndented(line);
    if (!goesOn && (mark !== null || open.blank || interrupts(line))) return this.#start(line);
    open.blank = false;
    open.fence = goesOn ? fenceOpenedInItem(line) : null;
    return "kept";
  }

  /** A long fence in an item goes on as a fence of its own. */
  #inItemsFence(line: string, open: List, fence: Fence): Verdict {
    open.blank = false;
    if (closesFence(line, fence)) open.fence = null;
    else if (this.#at > LIMITS.list[0]) return this.#begin({ kind: "fence", fence, pieces: [] });
    return "kept";
  }
}

function list(mark: string, line: string): List {
  return { kind: "list", mark, blank: false, fence: fenceOpenedInItem(line) };
}
