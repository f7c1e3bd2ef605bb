/**
 * A growing document in the page: settled blocks are put there once and left alone, only the open end is replaced. They
 * lie on leaves, since the browser watches each of what it may pass over, and there are many blocks.
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
  /** The leaf that is written on, and when the formulas on it are drawn. */
  #chunk: HTMLElement | null = null;
  #pendingFormulas: Promise<void>[] = [];
  /** The element of the block that may still change, and what it shows. */
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

  /** Put there what has settled, and leave the open end for later. */
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

  /** The HTML of the open end is safe by the way it is made; it is sanitised when it settles. */
  #paintHtml(html: string): void {
    if (html === this.#openHtml) return;
    const element = this.#ensureOpenBlock();
    element.innerHTML = html;
    this.#codePieces = [];
    this.#openHtml = html;
    void renderBlockFormulas(element);
  }

  /** An open fence only gets longer: its last piece is written anew, the others stay. */
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

  /** A full leaf keeps its size from now on. */
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
