/** Generates Markdown: well-formed, malformed, and random text of the same characters. */

import fc from "fast-check";

const word = fc.constantFrom("moot", "a", "two words", "x_y", "ünï", "日本", "🙂", "&amp;", "<b>", "1", "$5", "50%");
const inline: fc.Arbitrary<string> = fc.oneof(
  word,
  fc.constantFrom("**bold**", "*em*", "~~gone~~", "`code`", "``a`b``", "**open", "`open", "[open", "![", "\\*", "<br>"),
  fc.constantFrom("[l](https://a.example/x)", "[r][ref]", "[^1]", "![i](http://b.example/i.png)", "https://c.example"),
  fc.constantFrom("$x^2$", "$$y$$", "\\(z\\)", "\\[w\\]", "$5 and $6", "<script>", "<!--", "a  \nb"),
);
const line = fc.array(inline, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(" "));
const indent = fc.constantFrom("", "", "", " ", "  ", "   ", "    ", "\t");
const marker = fc.constantFrom("- ", "* ", "1. ", "2) ", "> ", ">", "# ", "### ", "- [x] ", "- [ ] ", "", "", "");
const odd = fc.constantFrom(
  "```",
  "```js",
  "~~~",
  "````",
  "---",
  "***",
  "===",
  "$$",
  "\\[",
  "\\]",
  "| a | b |",
  "|---|:-:|",
  "[ref]: https://d.example",
  "[^1]: note",
  "<div>",
  "> - ```",
);
const markdownLine = fc.oneof(
  { weight: 5, arbitrary: fc.tuple(indent, marker, marker, line).map((parts) => parts.join("")) },
  { weight: 3, arbitrary: fc.tuple(indent, odd).map((parts) => parts.join("")) },
  { weight: 2, arbitrary: fc.constantFrom("", "", " ", "\t") },
);
const ending = fc.constantFrom("\n", "\n", "\n", "\r\n", "\r");

export const markdown = fc
  .array(fc.tuple(markdownLine, ending), { maxLength: 40 })
  .map((lines) => lines.map((parts) => parts.join("")).join(""));
export const noise = fc.oneof(
  fc.string({ unit: fc.constantFrom(..."`~*_[]()<>!#|-+:$\\\n\n \t\r1a.\"'&;=^🙂"), maxLength: 300 }),
  fc.string({ unit: "binary", maxLength: 200 }),
);
/** Texts longer than one segment. */
export const long = fc
  .tuple(fc.oneof(line, markdown, noise), fc.constantFrom("", " ", "\n", "\n\n", "\n- ", "\n> ", "\n| "))
  .map(([text, between]) => (text + between).repeat(Math.ceil(14_000 / (text.length + between.length + 1))));
