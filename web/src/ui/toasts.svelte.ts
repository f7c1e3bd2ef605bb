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
