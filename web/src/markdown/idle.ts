/** What has its size for good may be passed over by the browser for as long as it is far from view. */

const sizeObserver = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    sizeObserver.unobserve(target);
    requestAnimationFrame(() => target.classList.add("rests")); // in this frame it would be laid out twice
  }
});

/** Let an element rest once it was laid out: then its size is known, and nothing jumps when it comes into view. */
export function deferRenderingWhenMeasured(element: Element): void {
  sizeObserver.observe(element);
}
