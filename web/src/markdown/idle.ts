/** Lets the browser skip settled content that is far from the viewport. */

const sizeObserver = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    sizeObserver.unobserve(target);
    requestAnimationFrame(() => target.classList.add("rests")); // in this frame it would be laid out twice
  }
});

/** Skip an element after its first layout. Its size is known then, so nothing jumps when it comes into view. */
export function deferRenderingWhenMeasured(element: Element): void {
  sizeObserver.observe(element);
}
