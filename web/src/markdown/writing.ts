/** A text on its sheet: it is taken in a step at a time, so that a long one can be painted over several frames. */

import { GrowingDocument } from "./document.ts";
import { Sheet } from "./sheet.ts";

/** How many characters are taken in before one looks at the clock. */
const STEP = 500;

export class Writing {
  readonly #sheet: Sheet;
  #document = new GrowingDocument();
  #taken = 0;

  constructor(root: HTMLElement) {
    this.#sheet = new Sheet(root);
  }

  /** Show a text, of which more may come while it is live, until time is up; tell whether all of it is shown. */
  show(text: string, live: boolean, isTimeUp: () => boolean): boolean {
    do this.#take(text);
    while (this.#taken < text.length && !isTimeUp());
    if (this.#taken < text.length) return false;
    if (!live) this.#document.end();
    this.#sheet.paint(this.#document);
    return true;
  }

  #take(text: string): void {
    const next = Math.min(this.#taken + STEP, text.length);
    if (this.#document.grow(text.slice(0, next))) {
      this.#taken = next;
      this.#sheet.settle(this.#document);
    } else {
      this.#document = new GrowingDocument();
      this.#taken = 0;
      this.#sheet.clear();
    }
  }
}
