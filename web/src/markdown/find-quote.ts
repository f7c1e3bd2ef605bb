/** Finds and marks a quote in a rendered answer. */

const HIGHLIGHT_NAME = "moot-quote";
/** Elements beside the text of an answer. */
const EXCLUDED_SELECTOR = "figcaption, .place, .katex-mathml";

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

/** Return the start and end of a quote in a text, or null. Spaces, quotation marks and Markdown marks may differ. */
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

/** Find a quote in a container, or null. */
function findQuote(container: Element, quote: string): Range | null {
  const nodes = textNodes(container);
  const found = locateQuote(nodes.map(({ node }) => node.data).join(""), quote);
  if (found === null) return null;
  const range = document.createRange();
  const [first, last] = [findNodeAt(nodes, found[0]), findNodeAt(nodes, found[1] - 1)];
  range.setStart(first.node, found[0] - first.start);
  range.setEnd(last.node, found[1] - last.start);
  return range;
}

/** Mark a quote and clear other marks. Returns the element in which the quote starts, or null. */
export function markQuote(container: Element, quote: string): Element | null {
  const range = quote ? findQuote(container, quote) : null;
  if ("highlights" in CSS) {
    CSS.highlights.delete(HIGHLIGHT_NAME);
    if (range) CSS.highlights.set(HIGHLIGHT_NAME, new Highlight(range));
  }
  return range?.startContainer.parentElement ?? null;
}

interface PositionedText {
  node: Text;
  start: number;
}

function textNodes(container: Element): PositionedText[] {
  const walker = document.createTreeWalker(container, NodeFilter.SHOW_TEXT);
  const nodes: PositionedText[] = [];
  let start = 0;
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    if (!(node instanceof Text)) continue;
    const beside = node.parentElement?.closest(EXCLUDED_SELECTOR);
    if (beside && container.contains(beside)) continue; // skip elements beside the text
    nodes.push({ node, start });
    start += node.data.length;
  }
  return nodes;
}

function findNodeAt(nodes: readonly PositionedText[], at: number): PositionedText {
  return nodes.findLast(({ start }) => start <= at) ?? (nodes[0] as PositionedText);
}
