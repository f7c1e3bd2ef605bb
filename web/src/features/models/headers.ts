/** Headers as people write them, one a line. */

/** Read them; null where a line is none. */
export function headersOf(written: string): Record<string, string> | null {
  const lines = written
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  const pairs = lines.map((line) => /^([^:\s]+):\s*(.+)$/.exec(line));
  if (pairs.includes(null)) return null;
  return Object.fromEntries(pairs.map((pair) => [pair?.[1], pair?.[2]]));
}
