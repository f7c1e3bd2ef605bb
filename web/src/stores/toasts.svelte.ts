/** Short words about something that happened elsewhere on the page; what failed says so beside itself instead. */

import { addToast, removeViewToasts, type ToastOptions, type Toast } from "../state/toast-list.ts";

class ToastStore {
  all = $state.raw<readonly Toast[]>([]);
  /** Where they can be shown: on the page, and on each dialog that lies above it. */
  #containers = $state.raw<readonly symbol[]>([]);

  /** Offer a place; only the topmost can be seen, heard and clicked. Returns what takes it away. */
  registerContainer(container: symbol): () => void {
    this.#containers = [...this.#containers, container];
    return () => (this.#containers = this.#containers.filter((one) => one !== container));
  }

  toastsIn(container: symbol): readonly Toast[] {
    return this.#containers.at(-1) === container ? this.all : [];
  }

  show(words: string, options: ToastOptions = {}): void {
    this.all = addToast(this.all, words, options);
  }

  /** Tell why something was not done. */
  showError(error: unknown): void {
    this.show(error instanceof Error ? error.message : String(error), { isError: true });
  }

  clearViewToasts(): void {
    this.all = removeViewToasts(this.all);
  }

  dismiss(id: number): void {
    this.all = this.all.filter((toast) => toast.id !== id);
  }
}

export const toasts = new ToastStore();
