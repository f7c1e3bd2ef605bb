/** Going to a message, wherever it is: views open what hides it, and it is scrolled to as soon as it is there. */

export interface Wish {
  readonly message: string;
  /** Words in it that are to be marked. */
  readonly quote: string;
}

const FRAMES = 90; // in which what is opened for it may appear
const STEADY = 800; // milliseconds in which what is still being drawn must not push it away
const MARKED = 4000;

class Jump {
  wish = $state.raw<Wish | null>(null);

  to(message: string, quote = ""): void {
    this.wish = { message, quote };
  }
}

export const jump = new Jump();

/** Wait until an element is there; null where it does not come. */
export async function appeared(id: string): Promise<HTMLElement | null> {
  for (let frame = 0; frame < FRAMES; frame++) {
    const found = document.getElementById(id);
    if (found?.checkVisibility()) return found;
    await new Promise(requestAnimationFrame);
  }
  return document.getElementById(id);
}

/** Scroll to an element, mark it for a while, and let the keyboard go on from there. */
export function show(element: HTMLElement): void {
  element.dataset["found"] = "";
  if (!element.hasAttribute("tabindex")) element.tabIndex = -1;
  element.focus({ preventScroll: true });
  setTimeout(() => delete element.dataset["found"], MARKED);
  hold(element);
}

/** Keep an element in view while what stands above it is drawn, unless somebody scrolls. */
function hold(element: HTMLElement): void {
  const until = performance.now() + STEADY;
  const letGo = new AbortController();
  for (const touched of ["wheel", "pointerdown", "keydown", "touchstart"])
    addEventListener(touched, () => letGo.abort(), { signal: letGo.signal, passive: true });
  const step = () => {
    if (letGo.signal.aborted) return;
    element.scrollIntoView({ block: tall(element) ? "start" : "center" });
    // Whoever follows the end of what scrolls must know at once that one reads elsewhere.
    element.closest("[role=region]")?.dispatchEvent(new Event("scroll"));
    if (performance.now() < until) requestAnimationFrame(step);
    else letGo.abort();
  };
  step();
}

const tall = (element: HTMLElement): boolean => element.offsetHeight > innerHeight * 0.6;
