/** Keeps the keyboard focus near: when the focused element disappears, its replacement or neighbour gets the focus. */

const FOCUSABLE = "a[href], button:not(:disabled), input, select, summary, textarea";
const TEXT_FIELDS = "input, textarea"; // on a phone, focusing these would open the keyboard

export function keepFocus(container: HTMLElement): () => void {
  let held: HTMLElement | null = null;
  let position = 0;
  const stops = () => [...container.querySelectorAll<HTMLElement>(FOCUSABLE)];

  /** Only keyboard users need this. With a pointer, a later key press could hit the wrong element. */
  function taken({ type, target }: Event) {
    const isByKeys = (one: HTMLElement) => type === "keydown" || one.matches(":focus-visible");
    held = target instanceof HTMLElement && isByKeys(target) ? target : null;
    if (held) position = Math.max(0, stops().indexOf(held));
  }

  function left({ relatedTarget: to }: FocusEvent) {
    if (to instanceof Node && !container.contains(to)) held = null;
  }

  const observer = new MutationObserver(() => {
    if (!held || held.isConnected) return;
    held = null;
    if (document.activeElement !== document.body) return;
    const now = stops();
    const near = [...now.slice(position), ...now.slice(0, position).reverse()];
    near.find((one) => !one.matches(TEXT_FIELDS))?.focus({ preventScroll: true });
  });
  observer.observe(container, { childList: true, subtree: true });
  container.addEventListener("focusin", taken);
  container.addEventListener("keydown", taken);
  container.addEventListener("focusout", left);
  return () => {
    observer.disconnect();
    container.removeEventListener("focusin", taken);
    container.removeEventListener("keydown", taken);
    container.removeEventListener("focusout", left);
  };
}
