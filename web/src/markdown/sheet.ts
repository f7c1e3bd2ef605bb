/**
 * DOM of a growing document. Settled blocks are inserted once; only the open end is replaced. Blocks are grouped in
 * leaves, because the browser tracks each element with `content-visibility`, and there are many blocks.
 */

import { addCopyButtons } from "./copy-buttons.ts";
import type { GrowingDocument, Tail } from "./document.ts";
import { highlightCode } from "./highlight.ts";
import { renderFormulas, loadKatex } from "./math.ts";
import { deferRenderingWhenMeasured } from "./idle.ts";
import { sanitizeBlock } from "./sanitize.ts";

const BLOCKS_PER_CHUNK = 16;

export class DocumentRenderer {
  readonly #root: HTMLElement;
  #settledCount = 0;
  /** The current leaf, and the pending rendering of its formulas. */
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

  /** A full leaf no longer changes its size. */
  #finishChunk(leaf: HTMLElement): void {
    void Promise.all(this.#pendingFormulas).then(() => deferRenderingWhenMeasured(leaf));
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
  const leaf = document.createElement("div");
  leaf.className = "leaf";
  root.append(leaf);
  return leaf;
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
