/**
 * Paints growing documents into the page: when each of them may, how much in one step, and into which elements.
 *
 * All texts share 6 ms of a frame, in turn, each at most once every 66 ms. A text whose end is not visible renders
 * once a second, within 2 ms. One off screen comes after the others, and while it grows it waits until it is visible.
 * Remaining work continues in the next frame. Typing has priority.
 */

import { GrowingDocument, type Tail } from "./document.ts";
import { addCopyButtons } from "./copy-buttons.ts";
import { highlightCode } from "./highlight.ts";
import { renderFormulas, loadKatex } from "./math.ts";
import { deferRenderingWhenMeasured, type Clock } from "./browser.ts";
import { sanitizeBlock } from "./render.ts";

/** Render until the time is up, at least one step. Returns whether everything is rendered. */
type PaintStep = (isTimeUp: () => boolean) => boolean;

export const MIN_INTERVAL_MS = 66;
export const FRAME_BUDGET_MS = 6;
export const END_HIDDEN_INTERVAL_MS = 1_000;
export const END_HIDDEN_BUDGET_MS = 2;

export class Painter {
  isRequested = false;
  isFinal = false;
  isVisible = true;
  isEndVisible = true;
  lastPaintAt = -Infinity;
  readonly paint: PaintStep;
  readonly #scheduler: PaintScheduler;

  constructor(scheduler: PaintScheduler, paint: PaintStep) {
    this.#scheduler = scheduler;
    this.paint = paint;
  }

  /** Request rendering. The final state is rendered even off screen. */
  requestPaint(final: boolean): void {
    this.isRequested = true;
    this.isFinal = final;
    this.#scheduler.scheduleFrame();
  }

  /** Set whether any part of it is visible. */
  setVisible(seen: boolean): void {
    this.isVisible = seen;
    this.#scheduler.scheduleFrame();
  }

  /** Set whether its end is visible, where it grows. */
  setEndVisible(seen: boolean): void {
    this.isEndVisible = seen;
  }

  dispose(): void {
    this.#scheduler.removePainter(this);
  }

  get isWaiting(): boolean {
    return this.isRequested && (this.isVisible || this.isFinal);
  }

  isDue(now: number): boolean {
    return this.isWaiting && now - this.lastPaintAt >= (this.#isUrgent ? MIN_INTERVAL_MS : END_HIDDEN_INTERVAL_MS);
  }

  get budgetMs(): number {
    return this.#isUrgent ? FRAME_BUDGET_MS : END_HIDDEN_BUDGET_MS;
  }

  get #isUrgent(): boolean {
    return this.isEndVisible || this.isFinal;
  }
}

export class PaintScheduler {
  readonly #clock: Clock;
  /** In order of their turns: a rendered text moves to the end. */
  #painters: Painter[] = [];
  #isFrameRequested = false;
  #hasYielded = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  addPainter(paint: PaintStep): Painter {
    const painter = new Painter(this, paint);
    this.#painters.push(painter);
    return painter;
  }

  removePainter(painter: Painter): void {
    this.#painters = this.#painters.filter((one) => one !== painter);
  }

  scheduleFrame(): void {
    if (this.#isFrameRequested || !this.#painters.some((painter) => painter.isWaiting)) return;
    this.#isFrameRequested = true;
    this.#clock.requestFrame(() => this.#runFrame());
  }

  #runFrame(): void {
    this.#isFrameRequested = false;
    // A key that is held down must not block rendering.
    this.#hasYielded = this.#clock.hasKeyPress() && !this.#hasYielded;
    try {
      if (!this.#hasYielded) this.#paintDue(this.#clock.now());
    } finally {
      this.scheduleFrame();
    }
  }

  #paintDue(start: number): void {
    const due = this.#painters.filter((painter) => painter.isDue(start));
    const painted = new Set<Painter>();
    try {
      for (const painter of [
        ...due.filter(({ isVisible: seen }) => seen),
        ...due.filter(({ isVisible: seen }) => !seen),
      ]) {
        const isTimeUp = () => this.#clock.now() - start >= painter.budgetMs;
        if (painted.size > 0 && isTimeUp()) continue;
        painted.add(painter);
        painter.isRequested = false;
        painter.lastPaintAt = start;
        if (painter.paint(isTimeUp)) continue;
        painter.isRequested = true;
        painter.lastPaintAt = -Infinity;
      }
    } finally {
      this.#painters = [
        ...this.#painters.filter((one) => !painted.has(one)),
        ...this.#painters.filter((one) => painted.has(one)),
      ];
    }
  }
}

/** Characters per step, before the time is checked. */
const STEP_CHARS = 500;

/** Renders a text in steps, so that a long one takes several frames. */
export class IncrementalRenderer {
  readonly #documentRenderer: DocumentRenderer;
  #document = new GrowingDocument();
  #position = 0;

  constructor(root: HTMLElement) {
    this.#documentRenderer = new DocumentRenderer(root);
  }

  /** Render a text until the time is up. Returns whether all of it is rendered. */
  render(text: string, live: boolean, isTimeUp: () => boolean): boolean {
    do this.#advance(text);
    while (this.#position < text.length && !isTimeUp());
    if (this.#position < text.length) return false;
    if (!live) this.#document.end();
    this.#documentRenderer.paint(this.#document);
    return true;
  }

  #advance(text: string): void {
    const next = Math.min(this.#position + STEP_CHARS, text.length);
    if (this.#document.grow(text.slice(0, next))) {
      this.#position = next;
      this.#documentRenderer.renderSettled(this.#document);
    } else {
      this.#document = new GrowingDocument();
      this.#position = 0;
      this.#documentRenderer.clear();
    }
  }
}

const BLOCKS_PER_CHUNK = 16;

/**
 * Elements of a growing document. Settled blocks are inserted once; only the open end is replaced. Blocks are grouped
 * in chunks, because the browser tracks each element with `content-visibility`, and there are many blocks.
 */
export class DocumentRenderer {
  readonly #root: HTMLElement;
  #settledCount = 0;
  /** The current chunk, and the pending rendering of its formulas. */
  #chunk: HTMLElement | null = null;
  #pendingFormulas: Promise<void>[] = [];
  /** The element of the open block, and its content. */
  #openBlock: HTMLElement | null = null;
  #openHtml = "";
  #codePieces: HTMLElement[] = [];

  constructor(root: HTMLElement) {
    this.#root = root;
  }

  clear(): void {
    this.#root.replaceChildren();
    this.#settledCount = 0;
    this.#startChunk();
    this.#resetOpenBlock();
  }

  /** Insert settled blocks. The open end is rendered later. */
  renderSettled(document: GrowingDocument): void {
    for (const html of document.settledBlocks.slice(this.#settledCount)) this.#renderSettledBlock(html);
  }

  paint(document: GrowingDocument): void {
    this.renderSettled(document);
    const tail = document.tail();
    if (tail === null) this.#removeOpenBlock();
    else if (tail.kind === "html") this.#paintHtml(tail.html);
    else this.#paintCode(tail);
  }

  #renderSettledBlock(html: string): void {
    const element = this.#ensureOpenBlock();
    element.replaceChildren(sanitizeBlock(html));
    delete element.dataset.open;
    addCopyButtons(element);
    this.#pendingFormulas.push(renderBlockFormulas(element));
    void highlightCode(element);
    this.#settledCount += 1;
    this.#resetOpenBlock();
    if (this.#chunk?.childElementCount === BLOCKS_PER_CHUNK) this.#finishChunk(this.#chunk);
  }

  /** The HTML of the open end is escaped by construction. It is sanitised when it settles. */
  #paintHtml(html: string): void {
    if (html === this.#openHtml) return;
    const element = this.#ensureOpenBlock();
    element.innerHTML = html;
    this.#codePieces = [];
    this.#openHtml = html;
    void renderBlockFormulas(element);
  }

  /** An open fence only grows: its last piece is replaced, the others stay. */
  #paintCode({ language, pieces }: Tail & { kind: "code" }): void {
    const element = this.#ensureOpenBlock();
    const code = element.querySelector<HTMLElement>("code.open") ?? createCodeBlock(element, language);
    if (code.childElementCount === 0) this.#codePieces = [];
    this.#openHtml = "";
    for (const [place, text] of pieces.entries()) {
      if (place < this.#codePieces.length - 1) continue;
      const piece = (this.#codePieces[place] ??= code.appendChild(document.createElement("span")));
      if (piece.textContent !== text) piece.textContent = text;
    }
  }

  /** A full chunk no longer changes its size. */
  #finishChunk(chunk: HTMLElement): void {
    void Promise.all(this.#pendingFormulas).then(() => deferRenderingWhenMeasured(chunk));
    this.#startChunk();
  }

  #startChunk(): void {
    this.#chunk = null;
    this.#pendingFormulas = [];
  }

  #ensureOpenBlock(): HTMLElement {
    if (this.#openBlock === null) {
      this.#openBlock = document.createElement("div");
      this.#openBlock.className = "block";
      this.#openBlock.dataset.open = "";
      this.#chunk ??= newChunk(this.#root);
      this.#chunk.append(this.#openBlock);
    }
    return this.#openBlock;
  }

  #removeOpenBlock(): void {
    this.#openBlock?.remove();
    this.#resetOpenBlock();
    if (this.#chunk?.childElementCount !== 0) return;
    this.#chunk.remove();
    this.#chunk = null;
  }

  #resetOpenBlock(): void {
    this.#openBlock = null;
    this.#openHtml = "";
    this.#codePieces = [];
  }
}

async function renderBlockFormulas(element: HTMLElement): Promise<void> {
  if (!renderFormulas(element)) return;
  await loadKatex();
  renderFormulas(element);
}

function newChunk(root: HTMLElement): HTMLElement {
  const chunk = document.createElement("div");
  chunk.className = "chunk";
  root.append(chunk);
  return chunk;
}

function createCodeBlock(element: HTMLElement, language: string): HTMLElement {
  const figure = document.createElement("figure");
  const caption = document.createElement("figcaption");
  const pre = document.createElement("pre");
  const code = document.createElement("code");
  figure.className = "code";
  caption.textContent = language || "text";
  pre.tabIndex = 0;
  code.className = "open";
  pre.append(code);
  figure.append(caption, pre);
  element.replaceChildren(figure);
  return code;
}
