/** A growing document in the page: settled blocks are put there once and left alone, only the open end is replaced. */

import { addCopyButtons } from "./copying.ts";
import type { GrowingDocument, Tail } from "./document.ts";
import { highlight } from "./highlight.ts";
import { drawFormulas, loadKatex } from "./math.ts";
import { sanitisedBlock } from "./sanitise.ts";

export class Sheet {
  readonly #root: HTMLElement;
  #settled = 0;
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
    this.#forgetEnd();
  }

  paint(document: GrowingDocument): void {
    for (const block of document.settled.slice(this.#settled)) this.#settle(block.html);
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
    this.#draw(element);
    void highlight(element);
    this.#settled += 1;
    this.#forgetEnd();
  }

  /** The HTML of the open end is safe by the way it is made; it is sanitised when it settles. */
  #paintHtml(html: string): void {
    if (html === this.#shown) return;
    const element = this.#element();
    element.innerHTML = html;
    this.#pieces = [];
    this.#shown = html;
    this.#draw(element);
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

  #draw(element: HTMLElement): void {
    if (drawFormulas(element)) void loadKatex().then(() => drawFormulas(element));
  }

  #element(): HTMLElement {
    if (this.#end === null) {
      this.#end = document.createElement("div");
      this.#end.className = "block";
      this.#end.dataset.open = "";
      this.#root.append(this.#end);
    }
    return this.#end;
  }

  #drop(): void {
    this.#end?.remove();
    this.#forgetEnd();
  }

  #forgetEnd(): void {
    this.#end = null;
    this.#shown = "";
    this.#pieces = [];
  }
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
