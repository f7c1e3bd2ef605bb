/** The picture of a board: the next one is whole before it takes the place of the one before. */

const MAX_CACHED_IMAGES = 60; // pictures that can be gone back to without asking again

export class ImageLoader {
  currentUrl = $state.raw<string | null>(null);
  failed = $state.raw(false);
  #cache = new Map<string, HTMLImageElement>();
  #requestedUrl: string | null = null;
  #isBusy = false;

  /** Wish for another one. One is fetched at a time, and of all wishes meanwhile only the newest counts. */
  request(url: string | null): void {
    if (url === this.#requestedUrl && !this.failed) return;
    this.#requestedUrl = url;
    this.failed = false;
    if (!this.#isBusy) void this.#loadRequested();
  }

  async #loadRequested(): Promise<void> {
    this.#isBusy = true;
    while (this.currentUrl !== this.#requestedUrl && !this.failed) {
      const address = this.#requestedUrl;
      if (address === null || this.#cache.has(address) || (await this.#loadImage(address)))
        this.currentUrl = address;
      else this.failed = address === this.#requestedUrl;
    }
    this.#isBusy = false;
  }

  async #loadImage(address: string): Promise<boolean> {
    const image = new Image();
    image.src = address;
    try {
      await image.decode();
    } catch {
      return false;
    }
    this.#cache.set(address, image);
    const oldest = this.#cache.keys().next();
    if (this.#cache.size > MAX_CACHED_IMAGES && oldest.value) this.#cache.delete(oldest.value);
    return true;
  }
}
