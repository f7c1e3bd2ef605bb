import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { diffWords } from "../src/features/evaluations/word-diff.ts";

const without = (kind: string, all: ReturnType<typeof diffWords>) =>
  all
    .filter((one) => one.kind !== kind)
    .map((one) => one.text)
    .join("");

const text = fc
  .array(fc.oneof(fc.constantFrom("you", "name", "your", "source", " ", " ", "\n", ".", "'", "é"), fc.string()))
  .map((words) => words.join(""));

test("unchanged and removed parts give the old text, unchanged and added parts the new one", () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      const parts = diffWords(before, after);
      assert.equal(without("added", parts), before);
      assert.equal(without("removed", parts), after);
      parts.forEach(({ kind }, place) => assert.notEqual(kind, parts[place + 1]?.kind));
    }),
  );
});

test("equal texts give one part, and empty texts give none", () => {
  assert.deepEqual(diffWords("You ask.", "You ask."), [{ kind: "same", text: "You ask." }]);
  assert.deepEqual(diffWords("", ""), []);
});

test("an added sentence is one part, and a replaced word is replaced alone", () => {
  assert.deepEqual(diffWords("You doubt.", "You doubt. You name your source."), [
    { kind: "same", text: "You doubt." },
    { kind: "added", text: " You name your source." },
  ]);
  assert.deepEqual(diffWords("You ask hard questions.", "You ask short questions."), [
    { kind: "same", text: "You ask " },
    { kind: "removed", text: "hard" },
    { kind: "added", text: "short" },
    { kind: "same", text: " questions." },
  ]);
});

test("very long texts are shown as removed and added", () => {
  const long = (word: string) => Array.from({ length: 2500 }, (_, place) => `${word}${place}`).join(" ");
  assert.deepEqual(
    diffWords(long("a"), long("b")).map(({ kind }) => kind),
    ["removed", "added"],
  );
});
