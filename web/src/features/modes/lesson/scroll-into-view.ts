/** Keep the current moment in view. */
export function keepInView(element: HTMLElement): void {
  element.scrollIntoView({ block: "nearest" });
}
