/** Where one reads: what stands at the top of a box that scrolls, kept there whatever grows or comes above it. */

interface Mark {
  readonly element: Element;
  /** Where it stands in the window. */
  readonly top: number;
}

export class Place {
  readonly #of: () => HTMLElement;
  /** From the largest to the smallest, of which some may be drawn anew meanwhile. */
  #marks: readonly Mark[] = [];
  #scrolled = Number.NaN;

  constructor(box: () => HTMLElement) {
    this.#of = box;
  }

  get #box(): HTMLElement {
    return this.#of();
  }

  /** Remember what stands at the top, if somebody has scrolled since. */
  follow(): void {
    if (this.#box.scrollTop === this.#scrolled) return;
    this.#scrolled = this.#box.scrollTop;
    const marks: Mark[] = [];
    const content = this.#box.lastElementChild; // what stands before it comes and goes
    for (let found = content && this.#first(content); found; found = this.#first(found))
      marks.push(marked(found));
    this.#marks = marks;
  }

  /** Bring it back to where it stood, unless somebody has scrolled since. */
  keep(): void {
    const marks = this.#marks.filter(({ element }) => element.isConnected);
    const last = marks.pop();
    if (last && this.#box.scrollTop === this.#scrolled) {
      this.#box.scrollTop += marked(last.element).top - last.top;
      this.#scrolled = this.#box.scrollTop;
      // What surrounds it may have grown above it; it alone is to stand where it stood, to the part of a pixel.
      this.#marks = [...marks.map(({ element }) => marked(element)), last];
    } else this.follow();
  }

  /** Find what reaches below the upper edge of the box first. */
  #first(within: Element): Element | undefined {
    const { top, left, right } = this.#box.getBoundingClientRect();
    return [...within.children].find((element) => {
      const at = element.getBoundingClientRect();
      const isSeen = at.height > 0 && at.bottom > top && at.right > left && at.left < right;
      return isSeen && !isStuck(element);
    });
  }
}

const marked = (element: Element): Mark => ({ element, top: element.getBoundingClientRect().top });

/** What is stuck to an edge does not move with what one reads. */
const isStuck = (element: Element): boolean =>
  ["sticky", "absolute", "fixed"].includes(getComputedStyle(element).position);
