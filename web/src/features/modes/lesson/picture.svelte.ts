/** Whiteboard image. The next one is fully loaded before it replaces the current one. */

const MAX_CACHED_IMAGES = 60; // cached images

export class ImageLoader {
  currentUrl = $state.raw<string | null>(null);
  failed = $state.raw(false);
  #cache = new Map<string, HTMLImageElement>();
  #requestedUrl: string | null = null;
  #isBusy = false;

  /** Request an image. One request runs at a time; of those waiting, only the newest counts. */
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
      if (address === null || this.#cache.has(address) || (await this.#loadImage(address))) this.currentUrl = address;
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
