/**
 * A growing document in the page: settled blocks are put there once and left alone, only the open end is replaced. They
 * lie on leaves, since the browser watches each of what it may pass over, and there are many blocks.
 */

import { addCopyButtons } from "./copy-buttons.ts";
import type { GrowingDocument, Tail } from "./document.ts";
import { highlight } from "./highlight.ts";
import { drawFormulas, loadKatex } from "./math.ts";
import { restWhenMeasured } from "./idle.ts";
import { sanitisedBlock } from "./sanitize.ts";

const BLOCKS_A_LEAF = 16;

export class Sheet {
  readonly #root: HTMLElement;
  #settled = 0;
  /** The leaf that is written on, and when the formulas on it are drawn. */
  #leaf: HTMLElement | null = null;
  #drawn: Promise<void>[] = [];
  /** The element of the block that may still change, and what it shows. */
  #end: HTMLElement | null = null;
  #shown = "";
  #pieces: HTMLElement[] = [];

  constructor(root: HTMLElement) {
    this.#root = root;
  }

  clear(): void {
    this.#root.replaceChildren();
    this.#settled = 0;
    this.#turn();
    this.#forgetEnd();
  }

  /** Put there what has settled, and leave the open end for later. */
  settle(document: GrowingDocument): void {
    for (const html of document.settled.slice(this.#settled)) this.#settle(html);
  }

  paint(document: GrowingDocument): void {
    this.settle(document);
    const tail = document.tail();
    if (tail === null) this.#drop();
    else if (tail.kind === "html") this.#paintHtml(tail.html);
    else this.#paintCode(tail);
  }

  #settle(html: string): void {
    const element = this.#element();
    element.replaceChildren(sanitisedBlock(html));
    delete element.dataset.open;
    addCopyButtons(element);
    this.#drawn.push(draw(element));
    void highlight(element);
    this.#settled += 1;
    this.#forgetEnd();
    if (this.#leaf?.childElementCount === BLOCKS_A_LEAF) this.#rest(this.#leaf);
  }

  /** The HTML of the open end is safe by the way it is made; it is sanitised when it settles. */
  #paintHtml(html: string): void {
    if (html === this.#shown) return;
    const element = this.#element();
    element.innerHTML = html;
    this.#pieces = [];
    this.#shown = html;
    void draw(element);
  }

  /** An open fence only gets longer: its last piece is written anew, the others stay. */
  #paintCode({ language, pieces }: Tail & { kind: "code" }): void {
    const element = this.#element();
    const code = element.querySelector<HTMLElement>("code.open") ?? openCode(element, language);
    if (code.childElementCount === 0) this.#pieces = [];
    this.#shown = "";
    for (const [place, text] of pieces.entries()) {
      if (place < this.#pieces.length - 1) continue;
      const piece = (this.#pieces[place] ??= code.appendChild(document.createElement("span")));
      if (piece.textContent !== text) piece.textContent = text;
    }
  }

  /** A full leaf keeps its size from now on. */
  #rest(leaf: HTMLElement): void {
    void Promise.all(this.#drawn).then(() => restWhenMeasured(leaf));
    this.#turn();
  }

  #turn(): void {
    this.#leaf = null;
    this.#drawn = [];
  }

  #element(): HTMLElement {
    if (this.#end === null) {
      this.#end = document.createElement("div");
      this.#end.className = "block";
      this.#end.dataset.open = "";
      this.#leaf ??= newLeaf(this.#root);
      this.#leaf.append(this.#end);
    }
    return this.#end;
  }

  #drop(): void {
    this.#end?.remove();
    this.#forgetEnd();
    if (this.#leaf?.childElementCount !== 0) return;
    this.#leaf.remove();
    this.#leaf = null;
  }

  #forgetEnd(): void {
    this.#end = null;
    this.#shown = "";
    this.#pieces = [];
  }
}

async function draw(element: HTMLElement): Promise<void> {
  if (!drawFormulas(element)) return;
  await loadKatex();
  drawFormulas(element);
}

function newLeaf(root: HTMLElement): HTMLElement {
  const leaf = document.createElement("div");
  leaf.className = "leaf";
  root.append(leaf);
  return leaf;
}

function openCode(element: HTMLElement, language: string): HTMLElement {
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
