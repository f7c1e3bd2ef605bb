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
  .array(
    fc.oneof(fc.constantFrom("you", "name", "your", "source", " ", " ", "\n", ".", "'", "é"), fc.string()),
  )
  .map((words) => words.join(""));

test("what is the same and removed was before, what is the same and added is after", () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      const found = diffWords(before, after);
      assert.equal(without("added", found), before);
      assert.equal(without("removed", found), after);
      found.forEach(({ kind }, place) => assert.notEqual(kind, found[place + 1]?.kind));
    }),
  );
});

test("nothing changed is one piece, and nothing at all none", () => {
  assert.deepEqual(diffWords("You ask.", "You ask."), [{ kind: "same", text: "You ask." }]);
  assert.deepEqual(diffWords("", ""), []);
});

test("a sentence that was added is added whole, and a word that was replaced is replaced alone", () => {
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

test("texts too long to compare are told as one replaced by the other", () => {
  const long = (word: string) => Array.from({ length: 2500 }, (_, place) => `${word}${place}`).join(" ");
  assert.deepEqual(
    diffWords(long("a"), long("b")).map(({ kind }) => kind),
    ["removed", "added"],
  );
});
