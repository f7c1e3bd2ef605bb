/** Toast list: a few at a time. A repeated toast increases its count. */

/** Reverts an action. If it returns a promise, the undo is done when that resolves. */
export type Undo = () => unknown;

export interface Toast {
  readonly id: number;
  readonly words: string;
  readonly isError: boolean;
  /** How often it was shown while visible. */
  readonly times: number;
  /** Whether it closes when the user leaves the view. */
  readonly isViewScoped: boolean;
  readonly undo?: Undo;
}

export interface ToastOptions {
  readonly isError?: boolean;
  readonly isViewScoped?: boolean;
  readonly undo?: Undo;
}

const MAX_TOASTS = 3;
let lastToastId = 0;

/** Add a toast. A repeated one moves to the end, and its undo reverts all of them, the last first. */
export function addToast(
  all: readonly Toast[],
  words: string,
  { isError = false, isViewScoped = false, undo }: ToastOptions,
): readonly Toast[] {
  const same = all.find((one) => one.words === words && one.isError === isError);
  const undoes = [undo, same?.undo].filter((one) => one !== undefined);
  const toast = {
    id: ++lastToastId,
    words,
    isError,
    isViewScoped,
    times: (same?.times ?? 0) + 1,
    ...(undoes.length ? { undo: () => runInOrder(undoes) } : {}),
  };
  return [...all.filter((one) => one !== same), toast].slice(-MAX_TOASTS);
}

/** Remove view-scoped toasts when the user leaves the view. They can no longer be undone. */
export function removeViewToasts(all: readonly Toast[]): readonly Toast[] {
  return all.filter((one) => !one.isViewScoped);
}

async function runInOrder(undoes: readonly Undo[]): Promise<void> {
  for (const one of undoes) await one();
}
