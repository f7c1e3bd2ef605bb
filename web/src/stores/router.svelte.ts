/** Router: the path decides the view, so that every view has a link and works with the back button. */

/** A quote and the message that contains it. */
export interface QuoteTarget {
  readonly message: string;
  readonly quote: string;
}

/** The link that was followed; several links can show the same quote. */
export interface FollowedQuote extends QuoteTarget {
  readonly linkIndex: number;
}

/** State kept in the browser history with each visit. */
interface HistoryState {
  /** Text to find in the anchor's target. */
  readonly quote?: string;
  /** The quote link that was followed from this entry. */
  readonly followedQuote?: FollowedQuote;
}

class Router {
  #url = $state.raw(new URL(location.href));
  #historyState = $state.raw<HistoryState>(readHistoryState());

  /** Path segments, such as `["d", "dis_…"]`. */
  readonly pathParts = $derived(this.#url.pathname.split("/").filter(Boolean));
  readonly query = $derived(this.#url.searchParams);
  /** Anchor of a deep link. */
  readonly anchor = $derived(safeDecode(this.#url.hash.slice(1)));
  /** The anchor with its history state; a new object for each visit. */
  readonly target = $derived({ anchor: this.anchor, ...this.#historyState });

  constructor() {
    addEventListener("popstate", () => this.#readLocation());
    document.addEventListener("click", (event) => this.#handleClick(event));
  }

  /** Navigate to a path. `quote` is searched in the anchor's target. */
  navigate(path: string, { replace = false, quote = "" } = {}): void {
    const kept = quote ? ({ quote } satisfies HistoryState) : null;
    if (replace) history.replaceState(kept, "", path);
    else history.pushState(kept, "", path);
    this.#readLocation();
  }

  /** Follow a quote to its message. Going back leads to the quote. */
  followQuote(path: string, followedQuote: FollowedQuote): void {
    history.replaceState({ ...readHistoryState(), followedQuote } satisfies HistoryState, "");
    this.navigate(path, { quote: followedQuote.quote });
  }

  #readLocation(): void {
    this.#url = new URL(location.href);
    this.#historyState = readHistoryState();
  }

  /** Handle clicks on internal links without a reload. Clicks that open a new tab are left to the browser. */
  #handleClick(event: MouseEvent): void {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
    if (link.pathname.startsWith("/api/")) return;
    event.preventDefault();
    this.navigate(link.href, { quote: link.dataset["quote"] });
  }
}

/** Return a copy of the history state: a new object for each visit, so that two visits differ. */
function readHistoryState(): HistoryState {
  return { ...(history.state as HistoryState | null) };
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Return the absolute URL of a message, for sharing. */
export function messageUrl(discussion: string, message: string): string {
  return `${location.origin}/d/${discussion}#${message}`;
}

export const router = new Router();
