/** The picture of a board: the next one is whole before it takes the place of the one before. */

const KEPT = 60; // pictures that can be gone back to without asking again

export class Picture {
  shown = $state.raw<string | null>(null);
  failed = $state.raw(false);
  #kept = new Map<string, HTMLImageElement>();
  #wanted: string | null = null;
  #busy = false;

  /** Wish for another one. One is fetched at a time, and of all wishes meanwhile only the newest counts. */
  want(address: string | null): void {
    if (address === this.#wanted && !this.failed) return;
    this.#wanted = address;
    this.failed = false;
    if (!this.#busy) void this.#fetch();
  }

  async #fetch(): Promise<void> {
    this.#busy = true;
    while (this.shown !== this.#wanted && !this.failed) {
      const address = this.#wanted;
      if (address === null || this.#kept.has(address) || (await this.#load(address))) this.shown = address;
      else this.failed = address === this.#wanted;
    }
    this.#busy = false;
  }

  async #load(address: string): Promise<boolean> {
    const image = new Image();
    image.src = address;
    try {
      await image.decode();
    } catch {
      return false;
    }
    this.#kept.set(address, image);
    const oldest = this.#kept.keys().next();
    if (this.#kept.size > KEPT && oldest.value) this.#kept.delete(oldest.value);
    return true;
  }
}
