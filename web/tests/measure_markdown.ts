/** Print the CPU time of parsing growing and hostile Markdown: marked alone, and the code of `src/markdown`. */

import { Lexer } from "marked";
import { GrowingDocument } from "../src/markdown/document.ts";

const PARAGRAPH =
  "A *round* table seats one more than a `square` one, if the **radius** is $2r$; see [why](https://example.org).\n\n";
const CHUNK_CHARS = 20; // about four tokens
const TEXTS = {
  "an answer of 20,000 characters, parsed at each chunk": { text: PARAGRAPH.repeat(180), isGrowing: true },
  "an answer of 40,000 characters, parsed at each chunk": { text: PARAGRAPH.repeat(360), isGrowing: true },
  "a hostile text of 8,000 characters, parsed once": { text: "**a_".repeat(2_000), isGrowing: false },
  "a hostile text of 16,000 characters, parsed once": { text: "**a_".repeat(4_000), isGrowing: false },
};

function measureMs(work: () => void): string {
  const before = process.cpuUsage();
  work();
  return `${Math.round(process.cpuUsage(before).user / 1000)} ms`;
}

for (const [name, { text, isGrowing }] of Object.entries(TEXTS)) {
  const ends = isGrowing ? Array.from({ length: text.length / CHUNK_CHARS }, (_, at) => (at + 1) * CHUNK_CHARS) : [];
  const prefixes = [...ends.map((end) => text.slice(0, end)), text];
  const marked = measureMs(() => prefixes.forEach((prefix) => new Lexer().lex(prefix)));
  const own = measureMs(() => {
    const document = new GrowingDocument();
    for (const prefix of prefixes) {
      document.grow(prefix);
      document.tail();
    }
    document.end();
  });
  console.log(`${name}: marked ${marked}, own ${own}`);
}
