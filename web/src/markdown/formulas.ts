/** Finds formulas in text: $…$, $$…$$, \(…\) and \[…\]. Amounts of money are not formulas. */

interface Formula {
  raw: string;
  source: string;
  display: boolean;
}

const MAX_FORMULA_LENGTH = 2_000;
const DELIMITER_PAIRS = [
  ["$$", "$$", true],
  ["\\[", "\\]", true],
  ["\\(", "\\)", false],
] as const;

/** Return the formula at the start of a text. */
export function parseFormula(text: string): Formula | null {
  for (const [opener, closer, display] of DELIMITER_PAIRS)
    if (text.startsWith(opener)) return parseDelimited(text, opener, closer, display);
  return text.startsWith("$") ? parseDollarFormula(text) : null;
}

function parseDelimited(text: string, opener: string, closer: string, display: boolean): Formula | null {
  const end = text.slice(0, MAX_FORMULA_LENGTH).indexOf(closer, opener.length);
  const source = text.slice(opener.length, Math.max(end, 0));
  if (source.trim() === "" || /\n[ \t]*\n/.test(source)) return null;
  return { raw: text.slice(0, end + closer.length), source: source.trim(), display };
}

/** No space after the opening dollar; no space before and no digit after the closing one. Skips amounts of money. */
function parseDollarFormula(text: string): Formula | null {
  const [raw, source = ""] = /^\$((?:\\[^\n]|[^$\\\n]|\n(?![ \t]*\n)){1,4000})\$(?!\d)/.exec(text) ?? [];
  if (raw === undefined || /^\s|\s$/.test(source)) return null;
  if (/^[\d,.]/.test(source) && /\s/.test(source) && !/[\\^_={}+<>]/.test(source)) return null;
  return { raw, source, display: false };
}

/** Return the position of the next dollar that may open a formula, or 0. A dollar after a letter or digit may not. */
export function nextDollar(text: string): number {
  let at = text.indexOf("$", 1);
  while (at > 0 && /[\w$\\]/.test(text.charAt(at - 1))) at = text.indexOf("$", at + 1);
  return Math.max(at, 0);
}
