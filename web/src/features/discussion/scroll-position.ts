/** Scroll anchoring: keeps the element at the top in place when content above it changes. */

interface ScrollAnchor {
  readonly element: Element;
  /** Position in the window. */
  readonly top: number;
}

export class ScrollPosition {
  readonly #getBox: () => HTMLElement;
  /** From the outermost to the innermost. Some may be re-rendered meanwhile. */
  #anchors: readonly ScrollAnchor[] = [];
  #lastScrollTop = Number.NaN;

  constructor(box: () => HTMLElement) {
    this.#getBox = box;
  }

  get #box(): HTMLElement {
    return this.#getBox();
  }

  /** Remember the element at the top, if the user scrolled. */
  remember(): void {
    if (this.#box.scrollTop === this.#lastScrollTop) return;
    this.#lastScrollTop = this.#box.scrollTop;
    const marks: ScrollAnchor[] = [];
    const content = this.#box.lastElementChild; // elements before it come and go
    for (let found = content && this.#firstVisible(content); found; found = this.#firstVisible(found))
      marks.push(measureAnchor(found));
    this.#anchors = marks;
  }

  /** Restore its position, unless the user scrolled since. */
  restore(): void {
    const marks = this.#anchors.filter(({ element }) => element.isConnected);
    const last = marks.pop();
    if (last && this.#box.scrollTop === this.#lastScrollTop) {
      this.#box.scrollTop += measureAnchor(last.element).top - last.top;
      this.#lastScrollTop = this.#box.scrollTop;
      // The outer elements may have grown above it, so use the innermost one.
      this.#anchors = [...marks.map(({ element }) => measureAnchor(element)), last];
    } else this.remember();
  }

  /** Find the first element that reaches below the top edge. */
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

/** Sticky elements do not scroll with the content. */
const isOutOfFlow = (element: Element): boolean =>
  ["sticky", "absolute", "fixed"].includes(getComputedStyle(element).position);
