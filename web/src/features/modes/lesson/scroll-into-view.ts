/** Keep the moment that is looked at in view. */
export function inView(mark: HTMLElement): void {
  mark.scrollIntoView({ block: "nearest" });
}
