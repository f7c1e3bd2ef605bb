/** Values in localStorage: drafts, theme, layout. Storage may be unavailable or full. */

export interface PersistedValue<T> {
  read(): T;
  write(value: T): void;
}

export function persisted<T>(name: string, fallback: T): PersistedValue<T> {
  const key = `moot.${name}`;
  return {
    read() {
      try {
        const text = localStorage.getItem(key);
        return text === null ? fallback : (JSON.parse(text) as T);
      } catch {
        return fallback;
      }
    },
    write(value) {
      try {
        if (value === null || value === "") localStorage.removeItem(key);
        else localStorage.setItem(key, JSON.stringify(value));
      } catch {
        // A failed write only loses the convenience of a restored value.
      }
    },
  };
}

const OWNER_KEY = "moot.account";

/** Clear values that another account left in this browser. Returns whether there were any. */
export function claimStorage(account: string): boolean {
  try {
    const before = localStorage.getItem(OWNER_KEY);
    localStorage.setItem(OWNER_KEY, account);
    if (before === null || before === account) return false;
    const left = Object.keys(localStorage).filter((key) => key.startsWith("moot.") && key !== OWNER_KEY);
    for (const key of left) localStorage.removeItem(key);
    return left.length > 0;
  } catch {
    return false;
  }
}
