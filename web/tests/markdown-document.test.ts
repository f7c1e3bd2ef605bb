import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { GrowingDocument } from "../src/markdown/document.ts";
import { long, markdown, noise } from "./markdown-texts.ts";
import { exampleCount } from "./example-count.ts";

function renderWhole(text: string): string[] {
  return renderPieces([text]);
}

/** Feed pieces one by one, paint after each, and check that settled blocks never change. */
function renderPieces(pieces: readonly string[], paint = true): string[] {
  const document = new GrowingDocument();
  const seen: string[] = [];
  let text = "";
  for (const piece of pieces) {
    text += piece;
    assert.ok(document.grow(text));
    if (paint) document.tail();
    for (const [place, html] of seen.entries()) assert.equal(document.settledBlocks[place], html);
    seen.push(...document.settledBlocks.slice(seen.length));
  }
  document.end();
  assert.equal(document.tail(), null);
  return document.settledBlocks;
}

function splitAt(text: string, places: readonly number[]): string[] {
  const bounds = [...places.map((place) => Math.floor(place * text.length)), 0, text.length].sort((a, b) => a - b);
  return bounds.slice(1).map((end, index) => text.slice(bounds[index], end));
}

const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 20 });

test("any split of a text gives the same blocks as the whole text", () => {
  fc.assert(
    fc.property(fc.oneof(markdown, noise), places, (text, at) => {
      assert.deepEqual(renderPieces(splitAt(text, at)), renderWhole(text));
    }),
    { numRuns: exampleCount(1_500) },
  );
});

test("feeding single characters gives the same blocks as the whole text", () => {
  fc.assert(
    fc.property(fc.oneof(markdown, noise), (text) => {
      assert.deepEqual(renderPieces(text.split(""), false), renderWhole(text));
    }),
    { numRuns: exampleCount(300) },
  );
});

test("any split of a text longer than one segment gives the same blocks", () => {
  fc.assert(
    fc.property(long, places, (text, at) => {
      assert.deepEqual(renderPieces(splitAt(text, at)), renderWhole(text));
    }),
    { numRuns: exampleCount(60) },
  );
});

test("no character of prose is lost or duplicated", () => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[a-z]{1,12}[.,]?$/), { minLength: 1, maxLength: 3_000 }), (words) => {
      const text = words.join(" ");
      const shown = renderWhole(text).map((html) => html.replace(/<\/?p>/g, "").trim());
      assert.equal(shown.join(" "), text.trim());
    }),
    { numRuns: exampleCount(50) },
  );
});

test("a document rejects a text that does not continue its own", () => {
  const document = new GrowingDocument();
  assert.ok(document.grow("one"));
  assert.ok(!document.grow("two"));
  document.end();
  assert.ok(document.grow("one"));
  assert.ok(!document.grow("one more"));
});

test("an open fence gives pieces of code, of which only the last changes", () => {
  const document = new GrowingDocument();
  let text = "```py\n";
  let before: readonly string[] = [];
  for (let line = 0; line < 2_000; line++) {
    document.grow((text += `line(${line})\n`));
    const tail = document.tail();
    assert.ok(tail?.kind === "code" && tail.language === "py");
    assert.deepEqual(tail.pieces.slice(0, before.length - 1), before.slice(0, -1));
    before = tail.pieces;
  }
  assert.equal(before.join(""), text.slice("```py\n".length));
  assert.equal(document.lexedChars, 0);
});

const SHAPES: Record<string, string> = {
  "one paragraph of many lines": "Some *words* and `code` on a line of a paragraph that goes on.\n",
  "one line": "Some *words* and `code` in a sentence. ",
  "one line without a space": "abcdefghij",
  "a list": "- an item with **words**\n",
  "one item": "  words that go on in an item\n",
  "a quote": "> words in a quote\n",
  "a table": "| a cell | another | 3 |\n",
  "a fence that stays open": "let x = [1, 2, 3];\n",
  "a fence in an item": "  let x = [1, 2, 3];\n",
  "an open formula": "x + y = z\n",
  "open brackets": "[a](",
  "open emphasis": "**a *b ",
  "open code": "`a ``b ",
  dollars: "$a ",
  "deep quotes": "> ",
  "deep lists": "- ",
};
const STARTS: Record<string, string> = {
  "one item": "- a\n",
  "a table": "| a | b | c |\n|---|---|---|\n",
  "a fence that stays open": "```js\n",
  "a fence in an item": "- a:\n  ```js\n",
  "an open formula": "$$\n",
};
/** Upper limit for one paint: a segment of maximum length and an unfinished line. */
const MAX_CHARS_PER_PAINT = 8_000 + 3_000;

for (const [name, part] of Object.entries(SHAPES))
  test(`the cost of a paint does not grow with the text: ${name}`, () => {
    const text = (STARTS[name] ?? "") + part.repeat(Math.ceil(100_000 / part.length));
    const document = new GrowingDocument();
    let most = 0;
    for (let end = 0; end < text.length; end += 400) {
      document.grow(text.slice(0, end));
      const before = document.lexedChars;
      document.tail();
      most = Math.max(most, document.lexedChars - before);
    }
    const painted = document.lexedChars;
    document.end();
    assert.ok(most <= MAX_CHARS_PER_PAINT, `${most} characters were read for one paint`);
    assert.ok(document.lexedChars - painted <= MAX_CHARS_PER_PAINT);
    const settled = new GrowingDocument();
    settled.grow(text);
    settled.end();
    assert.ok(settled.lexedChars <= text.length * 1.1, `${settled.lexedChars} characters were read for ${text.length}`);
  });
