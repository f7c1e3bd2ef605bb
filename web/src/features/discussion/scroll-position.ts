/** Where one reads: what stands at the top of a box that scrolls, kept there whatever grows or comes above it. */

interface ScrollAnchor {
  readonly element: Element;
  /** Where it stands in the window. */
  readonly top: number;
}

export class ScrollPosition {
  readonly #getBox: () => HTMLElement;
  /** From the largest to the smallest, of which some may be drawn anew meanwhile. */
  #anchors: readonly ScrollAnchor[] = [];
  #lastScrollTop = Number.NaN;

  constructor(box: () => HTMLElement) {
    this.#getBox = box;
  }

  get #box(): HTMLElement {
    return this.#getBox();
  }

  /** Remember what stands at the top, if somebody has scrolled since. */
  remember(): void {
    if (this.#box.scrollTop === this.#lastScrollTop) return;
    this.#lastScrollTop = this.#box.scrollTop;
    const marks: ScrollAnchor[] = [];
    const content = this.#box.lastElementChild; // what stands before it comes and goes
    for (let found = content && this.#firstVisible(content); found; found = this.#firstVisible(found))
      marks.push(measureAnchor(found));
    this.#anchors = marks;
  }

  /** Bring it back to where it stood, unless somebody has scrolled since. */
  restore(): void {
    const marks = this.#anchors.filter(({ element }) => element.isConnected);
    const last = marks.pop();
    if (last && this.#box.scrollTop === this.#lastScrollTop) {
      this.#box.scrollTop += measureAnchor(last.element).top - last.top;
      this.#lastScrollTop = this.#box.scrollTop;
      // What surrounds it may have grown above it; it alone is to stand where it stood, to the part of a pixel.
      this.#anchors = [...marks.map(({ element }) => measureAnchor(element)), last];
    } else this.remember();
  }

  /** Find what reaches below the upper edge of the box first. */
  #firstVisible(within: Element): Element | undefined {
    const { top, left, right } = this.#box.getBoundingClientRect();
    return [...within.children].find((element) => {
      const at = element.getBoundingClientRect();
      const isSeen = at.height > 0 && at.bottom > top && at.right > left && at.left < right;
      return isSeen && !isOutOfFlow(element);
    });
  }
}

const measureAnchor = (element: Element): ScrollAnchor => ({
  element,
  top: element.getBoundingClientRect().top,
});

/** What is stuck to an edge does not move with what one reads. */
const isOutOfFlow = (element: Element): boolean =>
  ["sticky", "absolute", "fixed"].includes(getComputedStyle(element).position);
