/** Where one is on the page: the path decides, so that every view can be linked to and gone back to. */

/** A quote, and the message that it is of. */
export interface Quoted {
  readonly message: string;
  readonly quote: string;
}

/** The link that one followed: which of those that show the same quote. */
export interface Left extends Quoted {
  readonly nth: number;
}

/** What the history keeps of a visit beside its address. */
interface Visit {
  /** Words in what the anchor points to. */
  readonly quote?: string;
  /** The quote that was followed from there. */
  readonly left?: Left;
}

class Route {
  #url = $state.raw(new URL(location.href));
  #visit = $state.raw<Visit>(visit());

  /** The path in pieces, such as `["d", "dis_…"]`. */
  readonly parts = $derived(this.#url.pathname.split("/").filter(Boolean));
  readonly query = $derived(this.#url.searchParams);
  /** What a deep link points to within the view. */
  readonly anchor = $derived(decoded(this.#url.hash.slice(1)));
  /** The same with what the history knows; another value with each visit. */
  readonly target = $derived({ anchor: this.anchor, ...this.#visit });

  constructor() {
    addEventListener("popstate", () => this.#read());
    document.addEventListener("click", (event) => this.#followed(event));
  }

  /** Go to a path; a quote is sought in what its anchor points to. */
  go(path: string, { replace = false, quote = "" } = {}): void {
    const kept = quote ? ({ quote } satisfies Visit) : null;
    if (replace) history.replaceState(kept, "", path);
    else history.pushState(kept, "", path);
    this.#read();
  }

  /** Follow a quote to what it is of: the way back leads to the quote. */
  quoted(path: string, left: Left): void {
    history.replaceState({ ...visit(), left } satisfies Visit, "");
    this.go(path, { quote: left.quote });
  }

  #read(): void {
    this.#url = new URL(location.href);
    this.#visit = visit();
  }

  /** Follow links of the page without loading it anew; whoever wants a new tab gets one. */
  #followed(event: MouseEvent): void {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
    if (link.pathname.startsWith("/api/")) return;
    event.preventDefault();
    this.go(link.href, { quote: link.dataset["quote"] });
  }
}

/** Where nothing is kept there is null; a value of its own tells one visit from the next. */
function visit(): Visit {
  return { ...(history.state as Visit | null) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Return the whole address of a message, as one may pass it on. */
export function linkTo(discussion: string, message: string): string {
  return `${location.origin}/d/${discussion}#${message}`;
}

export const route = new Route();
