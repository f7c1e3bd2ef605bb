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
