/** Going to a message, wherever it is: views open what hides it, and it is scrolled to as soon as it is there. */

import { markQuote } from "../../markdown/find-quote.ts";
import type { Quoted } from "../../stores/router.svelte.ts";

const FRAMES = 90; // in which what is opened for it may appear
const STEADY = 800; // milliseconds in which what is still being drawn must not push it away
const PATIENT = 5000; // milliseconds in which words that are sought may be drawn
const SEEK = 100; // milliseconds after which they are sought again
const MARKED = 4000;

class Jump {
  /** The quote is to be marked; where it is empty, the message alone is sought. */
  wish = $state.raw<Quoted | null>(null);

  to(message: string, quote = ""): void {
    this.wish = { message, quote };
  }
}

export const jump = new Jump();

/** Wait until an element is there; null where it does not come. */
export async function appeared(find: () => HTMLElement | null): Promise<HTMLElement | null> {
  for (let frame = 0; frame < FRAMES; frame++) {
    const found = find();
    if (found?.checkVisibility()) return found;
    await new Promise(requestAnimationFrame);
  }
  return find();
}

/** Find the links that show a quote. */
export function linksOf({ message, quote }: Quoted): readonly HTMLElement[] {
  const links = document.querySelectorAll<HTMLElement>(`[data-quoted="${CSS.escape(message)}"]`);
  return [...links].filter((link) => link.textContent === quote);
}

/** Scroll to an element and to the words that are sought in it, mark both, and let the keyboard go on from there. */
export function show(element: HTMLElement, quote: string, moved: () => void): void {
  element.dataset["found"] = "";
  if (!element.hasAttribute("tabindex")) element.tabIndex = -1;
  element.focus({ preventScroll: true });
  setTimeout(() => delete element.dataset["found"], MARKED);
  markQuote(element, ""); // what was marked before is not any more
  hold(element, quote, moved);
}

/** Keep an element in view while it and what stands above it are drawn, unless somebody scrolls. */
function hold(element: HTMLElement, quote: string, moved: () => void): void {
  const begun = performance.now();
  const letGo = new AbortController();
  for (const touched of ["wheel", "pointerdown", "keydown", "touchstart"])
    addEventListener(touched, () => letGo.abort(), { signal: letGo.signal, passive: true });
  let words: Element | null = null;
  let sought = -SEEK;
  const step = () => {
    if (!element.isConnected) letGo.abort();
    if (letGo.signal.aborted) return;
    const now = performance.now();
    if (quote && !words?.isConnected && now - sought >= SEEK) {
      words = markQuote(element.querySelector(".written, .markdown") ?? element, quote);
      sought = now;
    }
    const goal = words ?? element;
    goal.scrollIntoView({ block: words || !tall(element) ? "center" : "start" });
    moved(); // whoever follows the end of what scrolls must know at once that one reads elsewhere
    const patience = quote && !words ? PATIENT : STEADY;
    if (now - begun < patience) requestAnimationFrame(step);
    else letGo.abort();
  };
  step();
}

const tall = (element: HTMLElement): boolean => element.offsetHeight > innerHeight * 0.6;
