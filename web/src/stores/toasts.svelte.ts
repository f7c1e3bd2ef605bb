/** Toasts: short messages about events elsewhere on the page. A failed action shows its error beside itself instead. */

import { addToast, removeViewToasts, type ToastOptions, type Toast } from "../state/toast-list.ts";

class ToastStore {
  all = $state.raw<readonly Toast[]>([]);
  /** Containers that can show toasts: the page, and each open dialog above it. */
  #containers = $state.raw<readonly symbol[]>([]);

  /** Register a container. Only the topmost shows toasts. Returns a function that removes it. */
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

  /** Show an error. */
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
