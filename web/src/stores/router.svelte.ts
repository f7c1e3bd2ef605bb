/** Where one is on the page: the path decides, so that every view can be linked to and gone back to. */

/** A quote, and the message that it is of. */
export interface QuoteTarget {
  readonly message: string;
  readonly quote: string;
}

/** The link that one followed: which of those that show the same quote. */
export interface FollowedQuote extends QuoteTarget {
  readonly linkIndex: number;
}

/** What the history keeps of a visit beside its address. */
interface HistoryState {
  /** Words in what the anchor points to. */
  readonly quote?: string;
  /** The quote that was followed from there. */
  readonly followedQuote?: FollowedQuote;
}

class Router {
  #url = $state.raw(new URL(location.href));
  #historyState = $state.raw<HistoryState>(readHistoryState());

  /** The path in pieces, such as `["d", "dis_…"]`. */
  readonly pathParts = $derived(this.#url.pathname.split("/").filter(Boolean));
  readonly query = $derived(this.#url.searchParams);
  /** What a deep link points to within the view. */
  readonly anchor = $derived(safeDecode(this.#url.hash.slice(1)));
  /** The same with what the history knows; another value with each visit. */
  readonly target = $derived({ anchor: this.anchor, ...this.#historyState });

  constructor() {
    addEventListener("popstate", () => this.#readLocation());
    document.addEventListener("click", (event) => this.#handleClick(event));
  }

  /** Go to a path; a quote is sought in what its anchor points to. */
  navigate(path: string, { replace = false, quote = "" } = {}): void {
    const kept = quote ? ({ quote } satisfies HistoryState) : null;
    if (replace) history.replaceState(kept, "", path);
    else history.pushState(kept, "", path);
    this.#readLocation();
  }

  /** Follow a quote to what it is of: the way back leads to the quote. */
  followQuote(path: string, followedQuote: FollowedQuote): void {
    history.replaceState({ ...readHistoryState(), followedQuote } satisfies HistoryState, "");
    this.navigate(path, { quote: followedQuote.quote });
  }

  #readLocation(): void {
    this.#url = new URL(location.href);
    this.#historyState = readHistoryState();
  }

  /** Follow links of the page without loading it anew; whoever wants a new tab gets one. */
  #handleClick(event: MouseEvent): void {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
    if (link.pathname.startsWith("/api/")) return;
    event.preventDefault();
    this.navigate(link.href, { quote: link.dataset["quote"] });
  }
}

/** Where nothing is kept there is null; a value of its own tells one visit from the next. */
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

/** Return the whole address of a message, as one may pass it on. */
export function messageUrl(discussion: string, message: string): string {
  return `${location.origin}/d/${discussion}#${message}`;
}

export const router = new Router();
