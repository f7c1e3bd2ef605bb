/** Going to a message, wherever it is: views open what hides it, and it is scrolled to as soon as it is there. */

import { markQuote } from "../../markdown/find-quote.ts";
import type { QuoteTarget } from "../../stores/router.svelte.ts";

const MAX_FRAMES = 90; // in which what is opened for it may appear
const STEADY_MS = 800; // milliseconds in which what is still being drawn must not push it away
const QUOTE_WAIT_MS = 5000; // milliseconds in which words that are sought may be drawn
const SEEK_INTERVAL_MS = 100; // milliseconds after which they are sought again
const MARK_MS = 4000;

class MessageJump {
  /** The quote is to be marked; where it is empty, the message alone is sought. */
  target = $state.raw<QuoteTarget | null>(null);

  request(message: string, quote = ""): void {
    this.target = { message, quote };
  }
}

export const messageJump = new MessageJump();

/** Wait until an element is there; null where it does not come. */
export async function waitForElement(find: () => HTMLElement | null): Promise<HTMLElement | null> {
  for (let frame = 0; frame < MAX_FRAMES; frame++) {
    const found = find();
    if (found?.checkVisibility()) return found;
    await new Promise(requestAnimationFrame);
  }
  return find();
}

/** Find the links that show a quote. */
export function findQuoteLinks({ message, quote }: QuoteTarget): readonly HTMLElement[] {
  const links = document.querySelectorAll<HTMLElement>(`[data-quoted="${CSS.escape(message)}"]`);
  return [...links].filter((link) => link.textContent === quote);
}

/** Scroll to an element and to the words that are sought in it, mark both, and let the keyboard go on from there. */
export function revealElement(element: HTMLElement, quote: string, onMoved: () => void): void {
  element.dataset["found"] = "";
  if (!element.hasAttribute("tabindex")) element.tabIndex = -1;
  element.focus({ preventScroll: true });
  setTimeout(() => delete element.dataset["found"], MARK_MS);
  markQuote(element, ""); // what was marked before is not any more
  holdInView(element, quote, onMoved);
}

/** Keep an element in view while it and what stands above it are drawn, unless somebody scrolls. */
function holdInView(element: HTMLElement, quote: string, onMoved: () => void): void {
  const begun = performance.now();
  const letGo = new AbortController();
  for (const touched of ["wheel", "pointerdown", "keydown", "touchstart"])
    addEventListener(touched, () => letGo.abort(), { signal: letGo.signal, passive: true });
  let words: Element | null = null;
  let sought = -SEEK_INTERVAL_MS;
  const step = () => {
    if (!element.isConnected) letGo.abort();
    if (letGo.signal.aborted) return;
    const now = performance.now();
    if (quote && !words?.isConnected && now - sought >= SEEK_INTERVAL_MS) {
      words = markQuote(element.querySelector(".written, .markdown") ?? element, quote);
      sought = now;
    }
    const goal = words ?? element;
    goal.scrollIntoView({ block: words || !isTall(element) ? "center" : "start" });
    onMoved(); // whoever follows the end of what scrolls must know at once that one reads elsewhere
    const patience = quote && !words ? QUOTE_WAIT_MS : STEADY_MS;
    if (now - begun < patience) requestAnimationFrame(step);
    else letGo.abort();
  };
  step();
}

const isTall = (element: HTMLElement): boolean => element.offsetHeight > innerHeight * 0.6;
