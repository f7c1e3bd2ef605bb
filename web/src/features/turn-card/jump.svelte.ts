/** Scrolls to a message. Views first open what hides it. */

import { markQuote } from "../../markdown/find-quote.ts";
import type { QuoteTarget } from "../../stores/router.svelte.ts";

const MAX_FRAMES = 90; // frames to wait for the target to appear
const STEADY_MS = 800; // milliseconds during which the target is kept in view while content renders
const QUOTE_WAIT_MS = 5000; // milliseconds to wait for the quote to be rendered
const SEEK_INTERVAL_MS = 100; // milliseconds between searches for the quote
const MARK_MS = 4000;

class MessageJump {
  /** The quote to mark; empty to go to the message only. */
  target = $state.raw<QuoteTarget | null>(null);

  request(message: string, quote = ""): void {
    this.target = { message, quote };
  }
}

export const messageJump = new MessageJump();

/** Wait for an element; null after a timeout. */
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

/** Scroll to an element and its quote, mark both, and move the focus there. */
export function revealElement(element: HTMLElement, quote: string, onMoved: () => void): void {
  element.dataset["found"] = "";
  if (!element.hasAttribute("tabindex")) element.tabIndex = -1;
  element.focus({ preventScroll: true });
  setTimeout(() => delete element.dataset["found"], MARK_MS);
  markQuote(element, ""); // clear the previous mark
  holdInView(element, quote, onMoved);
}

/** Keep an element in view while content renders, unless the user scrolls. */
function holdInView(element: HTMLElement, quote: string, onMoved: () => void): void {
  const startedAt = performance.now();
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
    onMoved(); // the timeline must know at once that the user no longer follows the end
    const patience = quote && !words ? QUOTE_WAIT_MS : STEADY_MS;
    if (now - startedAt < patience) requestAnimationFrame(step);
    else letGo.abort();
  };
  step();
}

const isTall = (element: HTMLElement): boolean => element.offsetHeight > innerHeight * 0.6;
