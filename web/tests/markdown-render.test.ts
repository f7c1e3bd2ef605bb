import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { GrowingDocument } from "../src/markdown/document.ts";
import { parseFormula } from "../src/markdown/lexer.ts";
import { parseLinkTarget, showsDestination } from "../src/markdown/render.ts";
import { locateQuote } from "../src/markdown/find-quote.ts";
import { long, markdown, noise } from "./markdown-texts.ts";
import { exampleCount } from "./example-count.ts";

function html(text: string): string {
  const document = new GrowingDocument();
  document.grow(text);
  document.end();
  return document.settledBlocks.join("\n");
}

const TAG =
  /^<(?:\/?(?:blockquote|br|code|del|em|figcaption|h[3-6]|hr|li|ol|p|span|strong|sup|table|tbody|td|th|thead|tr|ul|div|figure|pre|a)|(?:code|span|div|li|figure|pre|a|ol|p|td|th)(?: [a-z-]+="[^"<>]*")+)>$/;

test("any text gives only allowed tags", () => {
  fc.assert(
    fc.property(
      fc.oneof({ weight: 9, arbitrary: markdown }, { weight: 9, arbitrary: noise }, { weight: 1, arbitrary: long }),
      (text) => {
        for (const [tag] of html(text).matchAll(/<[^>]*>?/g)) assert.match(tag, TAG);
      },
    ),
    { numRuns: exampleCount(500) },
  );
});

const CASES: Record<string, [markdown: string, html: string]> = {
  "headings start at level 3, below those of the page": ["# a\n###### b", "<h3>a</h3>\n<h6>b</h6>"],
  "raw HTML is text": ["<b>x</b> <!-- y -->", "<p>&lt;b&gt;x&lt;/b&gt; &lt;!-- y --&gt;</p>"],
  "a line break may be written as HTML": ["a<br>b", "<p>a<br>b</p>"],
  "a list continues after a blank line and ends before a paragraph": [
    "1. a\n\n2. b\n\nc",
    "<ol><li><p>a</p></li><li><p>b</p></li></ol>\n<p>c</p>",
  ],
  "a list starts at its first number": ["3. a", '<ol start="3"><li>a</li></ol>'],
  "a lazy line belongs to its quote": ["> a\nb\n\nc", "<blockquote><p>a\nb</p></blockquote>\n<p>c</p>"],
  "a row of dashes makes a heading": ["a\n---\nb", "<h4>a</h4><p>b</p>"],
  "a table may follow a line": [
    "a\n| b |\n|--:|\n| c |",
    '<p>a</p><div class="wide" role="group" aria-label="Table" tabindex="0"><table><thead><tr><th class="right">b</th></tr></thead><tbody><tr><td class="right">c</td></tr></tbody></table></div>',
  ],
  "a reference is text, because its definition may come later": ["[a][b]\n\n[b]: c", "<p>[a][b]</p>\n<p>[b]: c</p>"],
  "an indented line is text, because answers fence their code": ["    a", "<p>    a</p>"],
  "a line of a formula is not a list": ["$$\na\n+ b\n$$", '<div class="formula" data-formula="display">a\n+ b</div>'],
  "very deep nesting is text": ["> ".repeat(30), `<p class="plain">${"&gt; ".repeat(30)}</p>`],
};

for (const [name, [text, expected]] of Object.entries(CASES)) test(name, () => assert.equal(html(text), expected));

test("a formula is distinguished from an amount of money", () => {
  for (const text of ["$x$", "$5x^2$", "$a b$", "$$\nx\n$$", "\\(x\\)", "\\[x\\]", "$\\$5$"])
    assert.equal(parseFormula(text)?.raw, text);
  for (const text of ["$5 and $6", "$5-$6", "$5 to 10$", "$ x $", "$x", "$$", "$x\n\ny$", "\\(x", "$1,000 or 5 $"])
    assert.equal(parseFormula(text), null, text);
});

test("only links to web pages and mail addresses are allowed", () => {
  assert.deepEqual(parseLinkTarget("https://a.example/?x=1&amp;y"), {
    href: "https://a.example/?x=1&y",
    destination: "a.example",
  });
  assert.equal(parseLinkTarget("mailto:me@a.example")?.destination, "me@a.example");
  for (const address of ["javascript:1", "data:,x", "/x", "#x", "x", "//a.example", "mailto:x", "https://"])
    assert.equal(parseLinkTarget(address), null, address);
});

test("a link shows its destination unless its text does", () => {
  const to = { href: "https://a.example/x", destination: "a.example" };
  for (const text of ["a.example", "https://a.example/x", "www.a.example?y", "A.Example"])
    assert.ok(showsDestination(text, to));
  for (const text of ["here", "a.example.org", "b.example", "https://b.example/a.example", "a.example@b"])
    assert.ok(!showsDestination(text, to), text);
});

test("a quote is found even if spaces, quotation marks or Markdown differ", () => {
  const text = "They  agreed on\n“three things”, and left.";
  const found = (quote: string): string | null => {
    const place = locateQuote(text, quote);
    return place && text.slice(...place);
  };
  assert.equal(found('agreed on "three things"'), "agreed on\n“three things");
  assert.equal(found("… **they** agreed …"), "They  agreed");
  assert.equal(found("and left."), "and left.");
  assert.equal(found("they disagreed"), null);
  assert.equal(found(" ** "), null);
});

test("text that the parser drops is shown as it was written", () => {
  assert.match(html("- **bold**\n  > 2) **bold**\n[ref]: https://d.example\n"), /\[ref\]: https:\/\/d\.example/);
});
