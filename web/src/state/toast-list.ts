/** What is said in passing: a few at a time, and what is said again counts up instead of piling up. */

/** Takes something back; where that takes a while, it is done when what it returns is. */
export type Undo = () => unknown;

export interface Toast {
  readonly id: number;
  readonly words: string;
  readonly isError: boolean;
  /** How often it was said while it could be seen. */
  readonly times: number;
  /** Whether it ends with the view that it is about. */
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

/** Say something more. Said again, it is the newest, and one undo takes back all of it in turn, the last first. */
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

/** Leave a view: what was about it alone is no longer said, and can no longer be taken back. */
export function removeViewToasts(all: readonly Toast[]): readonly Toast[] {
  return all.filter((one) => !one.isViewScoped);
}

async function runInOrder(undoes: readonly Undo[]): Promise<void> {
  for (const one of undoes) await one();
}
