import assert from "node:assert/strict";
import { test } from "node:test";
import { splitCodeFences } from "../src/markdown/code-fence.ts";

test("text without a fence is unchanged, including white space", () => {
  const words = "  A *round* table?\n\n  `yes`\n";
  assert.deepEqual(splitCodeFences(words), [{ text: words, isCode: false }]);
});

test("fenced code is split from the text around it", () => {
  assert.deepEqual(splitCodeFences("Why?\n\n```py\nx = 1\n\n\ty = 2\n```\n\n  Because.\n"), [
    { text: "Why?", isCode: false },
    { text: "```py\nx = 1\n\n\ty = 2\n```", isCode: true },
    { text: "  Because.", isCode: false },
  ]);
});

test("an unclosed fence extends to the end, and another kind of fence does not close it", () => {
  assert.deepEqual(splitCodeFences("~~~\n```\na"), [{ text: "~~~\n```\na", isCode: true }]);
});

test("adjacent fences are separate parts", () => {
  assert.deepEqual(
    splitCodeFences("```\na\n```\n```\nb\n```").map(({ text }) => text),
    ["```\na\n```", "```\nb\n```"],
  );
});
