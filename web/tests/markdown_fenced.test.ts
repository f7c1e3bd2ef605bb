import assert from "node:assert/strict";
import { test } from "node:test";
import { splitCodeFences } from "../src/markdown/code-fence.ts";

test("words without a fence stay as they are, to the last blank", () => {
  const words = "  A *round* table?\n\n  `yes`\n";
  assert.deepEqual(splitCodeFences(words), [{ text: words, isCode: false }]);
});

test("code between fences is apart from the words around it", () => {
  assert.deepEqual(splitCodeFences("Why?\n\n```py\nx = 1\n\n\ty = 2\n```\n\n  Because.\n"), [
    { text: "Why?", isCode: false },
    { text: "```py\nx = 1\n\n\ty = 2\n```", isCode: true },
    { text: "  Because.", isCode: false },
  ]);
});

test("a fence that nobody closes goes on to the end, and another mark does not close it", () => {
  assert.deepEqual(splitCodeFences("~~~\n```\na"), [{ text: "~~~\n```\na", isCode: true }]);
});

test("two fences side by side are two", () => {
  assert.deepEqual(
    splitCodeFences("```\na\n```\n```\nb\n```").map(({ text }) => text),
    ["```\na\n```", "```\nb\n```"],
  );
});
