/** Finds and marks a quote in a rendered answer. */

import { locateQuote } from "./blockquotes.ts";

const HIGHLIGHT_NAME = "moot-quote";
/** Elements beside the text of an answer. */
const EXCLUDED_SELECTOR = "figcaption, .place, .katex-mathml";

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
