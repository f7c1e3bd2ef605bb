/** What is said in passing: a few at a time, and what is said again counts up instead of piling up. */

/** Takes something back; where that takes a while, it is done when what it returns is. */
export type Undo = () => unknown;

export interface Toast {
  readonly id: number;
  readonly words: string;
  readonly bad: boolean;
  /** How often it was said while it could be seen. */
  readonly times: number;
  /** Whether it ends with the view that it is about. */
  readonly here: boolean;
  readonly undo?: Undo;
}

export interface Said {
  readonly bad?: boolean;
  readonly here?: boolean;
  readonly undo?: Undo;
}

const MOST = 3;
let count = 0;

/** Say something more. Said again, it is the newest, and one undo takes back all of it in turn, the last first. */
export function added(
  all: readonly Toast[],
  words: string,
  { bad = false, here = false, undo }: Said,
): readonly Toast[] {
  const same = all.find((one) => one.words === words && one.bad === bad);
  const undoes = [undo, same?.undo].filter((one) => one !== undefined);
  const toast = {
    id: ++count,
    words,
    bad,
    here,
    times: (same?.times ?? 0) + 1,
    ...(undoes.length ? { undo: () => inTurn(undoes) } : {}),
  };
  return [...all.filter((one) => one !== same), toast].slice(-MOST);
}

/** Leave a view: what was about it alone is no longer said, and can no longer be taken back. */
export function elsewhere(all: readonly Toast[]): readonly Toast[] {
  return all.filter((one) => !one.here);
}

async function inTurn(undoes: readonly Undo[]): Promise<void> {
  for (const one of undoes) await one();
}
