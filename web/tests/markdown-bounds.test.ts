import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Lexer, type Token } from "marked";
import { isTooComplex, countMarks, splitByMarks } from "../src/markdown/lexer.ts";
import { GrowingDocument } from "../src/markdown/document.ts";
import { renderMarkdown } from "../src/markdown/render.ts";
import { long, markdown, noise } from "./markdown-texts.ts";
import { exampleCount } from "./example-count.ts";

const LENGTH = 16_000;
const PIECES = 200;
/** CPU time, so that other load does not count. It is a few seconds with the bounds, and up to minutes without. */
const MAX_CPU_SECONDS = 10;
const HOSTILE: Record<string, [unit: string, start?: string, end?: string]> = {
  "mixed emphasis": ["**a_"],
  "emphasis that never closes": ["*a "],
  "emphasis between punctuation": ["?_a"],
  "emphasis within emphasis": ["*a _b "],
  "a row of stars": ["*", "", "a"],
  "a row of underscores": ["_", "", "]"],
  strikes: ['"~~é'],
  "code that never closes": ["`a ``b "],
  "brackets in brackets": ["["],
  "images in links": ["![[a]("],
  "links that never close": ["[a](<"],
  "angle brackets": ["<a <!--"],
  dollars: ["$", "", "@"],
  "formulas that never close": ["\\(a \\["],
  "a long word before an at": ["a", "", "@"],
  "many addresses": ["a@b.c@"],
  "many links": ["www.a.(http://"],
  "cells of marks": ["|*_", "| a | b |\n|---|---|\n"],
  "quotes that deepen and end": ["\n=\n>> ", "> a"],
  "quotes and lists in turn": ["> - \n=\n", "> a\n"],
  "items of tiny lines": ["_\n", "- a\n"],
  "items that could be headings": ['"\n---', "- a\n"],
};

for (const [name, [unit, start = "", end = ""]] of Object.entries(HOSTILE))
  test(`a hostile answer does not block the page: ${name}`, () => {
    const text = start + unit.repeat(Math.ceil(LENGTH / unit.length)) + end;
    const document = new GrowingDocument();
    const before = process.cpuUsage();
    for (let piece = 1; piece <= PIECES; piece++) {
      document.grow(text.slice(0, Math.ceil((text.length * piece) / PIECES)));
      document.tail();
    }
    document.end();
    const seconds = process.cpuUsage(before).user / 1e6;
    assert.ok(seconds < MAX_CPU_SECONDS, `${seconds} s`);
  });

/** Return the texts in which marked looks for inline marks. */
function inlineTexts(text: string): string[] {
  const inlineTokens = Lexer.prototype.inlineTokens;
  const texts: string[] = [];
  Lexer.prototype.inlineTokens = function (this: Lexer, src: string, tokens?: Token[]): Token[] {
    texts.push(src);
    return inlineTokens.call(this, src, tokens);
  };
  try {
    renderMarkdown(text);
  } finally {
    Lexer.prototype.inlineTokens = inlineTokens;
  }
  return texts;
}

test("marked gets few marks or short texts, whatever the segment contains", () => {
  const unit = fc.array(fc.constantFrom(..."*_~`[](<!\\$@|a. \n>-".split("")), {
    minLength: 1,
    maxLength: 8,
  });
  fc.assert(
    fc.property(unit, (parts) => {
      const texts = inlineTexts(parts.join("").repeat(8_000 / parts.length));
      assert.ok(texts.reduce((work, src) => work + countMarks(src) ** 2, 0) <= 40_000);
      for (const src of texts) assert.ok(countMarks(src) <= 100 || src.length <= 200);
    }),
    { numRuns: exampleCount(100) },
  );
});

test("splitting loses no character, and ordinary prose is not split", () => {
  fc.assert(
    fc.property(fc.oneof(markdown, noise, long), (text) => assert.equal(splitByMarks(text).join(""), text)),
    { numRuns: exampleCount(300) },
  );
  const prose = "Some **words**, a `name_of_it` and [a link](https://a.example/x_y). ".repeat(8);
  assert.deepEqual(splitByMarks(prose), [prose]);
});

test("in a text with many marks, short spans are still formatted", () => {
  const html = renderMarkdown("A `name_of_it` and **words**. ".repeat(60));
  assert.equal(html.match(/<code>name_of_it<\/code>/g)?.length, 60);
  assert.equal(html.match(/<strong>words<\/strong>/g)?.length, 60);
});

test("long but simple lists and tables are formatted", () => {
  assert.ok(!isTooComplex("- 7\n".repeat(1_000)));
  assert.ok(!isTooComplex("> a\n> > b\n".repeat(20)));
  const rows = "| `a_b` | **c** | [d](https://a.example) |\n".repeat(90);
  assert.equal(renderMarkdown(`| a | b | c |\n|---|---|---|\n${rows}`).match(/<strong>c<\/strong>/g)?.length, 90);
});

test("text that is too complex is shown as plain text", () => {
  assert.equal(countMarks("name@"), 5);
  assert.match(renderMarkdown("> a\n> > b\n".repeat(100)), /^<p class="plain">&gt; a\n/);
  assert.match(renderMarkdown("*a ".repeat(1_300)), /^<p>(?:\*a )+<\/p>$/);
});
