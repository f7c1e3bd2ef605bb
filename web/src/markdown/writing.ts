/** Writes a text to its sheet in steps, so that a long text can be rendered over several frames. */

import { GrowingDocument } from "./document.ts";
import { DocumentRenderer } from "./sheet.ts";

/** Characters per step, before the time is checked. */
const STEP_CHARS = 500;

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
