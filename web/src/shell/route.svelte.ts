/** Where one is on the page: the path decides, so that every view can be linked to and gone back to. */

class Route {
  #url = $state.raw(new URL(location.href));

  /** The path in pieces, such as `["d", "dis_…"]`. */
  readonly parts = $derived(this.#url.pathname.split("/").filter(Boolean));
  readonly query = $derived(this.#url.searchParams);
  /** What a deep link points to within the view. */
  readonly anchor = $derived(decoded(this.#url.hash.slice(1)));

  constructor() {
    addEventListener("popstate", () => this.#read());
    document.addEventListener("click", (event) => this.#followed(event));
  }

  go(path: string, { replace = false } = {}): void {
    if (replace) history.replaceState(null, "", path);
    else history.pushState(null, "", path);
    this.#read();
  }

  #read(): void {
    this.#url = new URL(location.href);
  }

  /** Follow links of the page without loading it anew; whoever wants a new tab gets one. */
  #followed(event: MouseEvent): void {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
    if (link.pathname.startsWith("/api/")) return;
    event.preventDefault();
    this.go(link.href);
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const route = new Route();
