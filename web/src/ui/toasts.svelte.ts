/** Short words about something that happened elsewhere on the page; what failed says so beside itself instead. */

export interface Toast {
  id: number;
  words: string;
  bad: boolean;
  undo?: () => void;
}

const SECONDS = 7;
let count = 0;

class Toasts {
  all = $state.raw<readonly Toast[]>([]);
  /** Where they can be shown: on the page, and on each dialog that lies above it. */
  #places = $state.raw<readonly symbol[]>([]);

  /** Offer a place; only the topmost can be seen, heard and clicked. Returns what takes it away. */
  offer(place: symbol): () => void {
    this.#places = [...this.#places, place];
    return () => (this.#places = this.#places.filter((one) => one !== place));
  }

  at(place: symbol): readonly Toast[] {
    return this.#places.at(-1) === place ? this.all : [];
  }

  say(words: string, { bad = false, undo }: { bad?: boolean; undo?: () => void } = {}): void {
    const toast = { id: ++count, words, bad, ...(undo ? { undo } : {}) };
    this.all = [...this.all.slice(-2), toast];
    setTimeout(() => this.drop(toast.id), SECONDS * 1000);
  }

  /** Tell why something was not done. */
  sorry(error: unknown): void {
    this.say(error instanceof Error ? error.message : String(error), { bad: true });
  }

  drop(id: number): void {
    this.all = this.all.filter((toast) => toast.id !== id);
  }
}

export const toasts = new Toasts();
