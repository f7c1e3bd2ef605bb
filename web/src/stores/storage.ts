/** What a browser remembers for its person: drafts, the look, how many columns. It may be forgotten, and full. */

export interface Kept<T> {
  read(): T;
  write(value: T): void;
}

export function kept<T>(name: string, otherwise: T): Kept<T> {
  const key = `moot.${name}`;
  return {
    read() {
      try {
        const text = localStorage.getItem(key);
        return text === null ? otherwise : (JSON.parse(text) as T);
      } catch {
        return otherwise;
      }
    },
    write(value) {
      try {
        if (value === null || value === "") localStorage.removeItem(key);
        else localStorage.setItem(key, JSON.stringify(value));
      } catch {
        // Nothing is lost but the comfort of finding it again.
      }
    },
  };
}

const OWNER = "moot.account";

/** Make sure that what is kept is this account's: what another one left here is forgotten. Tell whether there was such. */
export function takeOver(account: string): boolean {
  try {
    const before = localStorage.getItem(OWNER);
    localStorage.setItem(OWNER, account);
    if (before === null || before === account) return false;
    const left = Object.keys(localStorage).filter((key) => key.startsWith("moot.") && key !== OWNER);
    for (const key of left) localStorage.removeItem(key);
    return left.length > 0;
  } catch {
    return false;
  }
}
