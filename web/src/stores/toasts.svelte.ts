/** Short words about something that happened elsewhere on the page; what failed says so beside itself instead. */

import { added, elsewhere, type Said, type Toast } from "../state/toast-list.ts";

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

  say(words: string, how: Said = {}): void {
    this.all = added(this.all, words, how);
  }

  /** Tell why something was not done. */
  sorry(error: unknown): void {
    this.say(error instanceof Error ? error.message : String(error), { bad: true });
  }

  leave(): void {
    this.all = elsewhere(this.all);
  }

  drop(id: number): void {
    this.all = this.all.filter((toast) => toast.id !== id);
  }
}

export const toasts = new Toasts();
