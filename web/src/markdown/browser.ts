/** What painting needs of the browser: its frames, its key presses, and content that it need not render. */

export interface Clock {
  now(): number;
  requestFrame(then: () => void): void;
  /** Return whether a key was pressed since the last call. */
  hasKeyPress(): boolean;
}

export function browserClock(): Clock {
  let pressed = false;
  addEventListener("keydown", () => (pressed = true), { capture: true, passive: true });
  return {
    now: () => performance.now(),
    requestFrame: (then) => void requestAnimationFrame(then),
    hasKeyPress() {
      const was = pressed;
      pressed = false;
      return was;
    },
  };
}

let sizeObserver: ResizeObserver | null = null;

/**
 * Let the browser skip an element that is far from the viewport, after its first layout. Its size is known then, so
 * nothing jumps when it comes into view.
 */
export function deferRenderingWhenMeasured(element: Element): void {
  sizeObserver ??= new ResizeObserver((entries, observer) => {
    for (const { target } of entries) {
      observer.unobserve(target);
      requestAnimationFrame(() => target.classList.add("rests")); // in this frame it would be laid out twice
    }
  });
  sizeObserver.observe(element);
}
