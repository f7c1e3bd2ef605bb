/** Keep the moment that is looked at in view. */
export function keepInView(element: HTMLElement): void {
  element.scrollIntoView({ block: "nearest" });
}
