/** Finds a quote in a text, ignoring differences in spaces, quotation marks and Markdown markup. */

interface NormalizedText {
  text: string;
  /** Original position of each character. */
  offsets: number[];
}

const EQUIVALENTS: Record<string, string> = {
  "“": '"',
  "”": '"',
  "„": '"',
  "‘": "'",
  "’": "'",
  "–": "-",
  "—": "-",
};
const MARKDOWN_MARKS = new Set("*_`~#>");

/** Normalise a text for the search. */
function normalizeText(text: string): NormalizedText {
  const kept: string[] = [];
  const from: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    const space = /\s/.test(char);
    if (MARKDOWN_MARKS.has(char) || (space && (kept.length === 0 || kept.at(-1) === " "))) continue;
    const low = char.toLowerCase();
    kept.push(space ? " " : (EQUIVALENTS[char] ?? (low.length === 1 ? low : char)));
    from.push(at);
  }
  return { text: kept.join(""), offsets: from };
}

/** Return the start and end of a quote in a text, or null. */
export function locateQuote(text: string, quote: string): [start: number, end: number] | null {
  const whole = normalizeText(text);
  const sought = normalizeText(quote)
    .text.trim()
    .replace(/^(?:"|'|\.{3}|…)+|(?:"|'|\.{3}|…)+$/g, "")
    .trim();
  const at = sought === "" ? -1 : whole.text.indexOf(sought);
  const start = whole.offsets[at];
  const last = whole.offsets[at + sought.length - 1];
  return start === undefined || last === undefined ? null : [start, last + 1];
}
