/** Finds and marks where in a rendered answer a quote stands. */

import { locateQuote } from "./blockquotes.ts";

const HIGHLIGHT_NAME = "moot-quote";
/** What is beside the words of an answer, not among them. */
const EXCLUDED_SELECTOR = "figcaption, .place, .katex-mathml";

/** Find a quote in a container; null where its words are not there. */
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

/** Mark a quote, and nothing else; return what it begins in. Without one, or where it is not there, nothing is marked. */
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
    if (beside && container.contains(beside)) continue; // what is around the answer does not count
    nodes.push({ node, start });
    start += node.data.length;
  }
  return nodes;
}

function findNodeAt(nodes: readonly PositionedText[], at: number): PositionedText {
  return nodes.findLast(({ start }) => start <= at) ?? (nodes[0] as PositionedText);
}
