/** HTTP headers as text, one per line. */

/** Parse headers; null if a line is invalid. */
export function parseHeaders(text: string): Record<string, string> | null {
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  const pairs = lines.map((line) => /^([^:\s]+):\s*(.+)$/.exec(line));
  if (pairs.includes(null)) return null;
  return Object.fromEntries(pairs.map((pair) => [pair?.[1], pair?.[2]]));
}
