import assert from "node:assert/strict";
import { test } from "node:test";
import { bodyOf } from "../src/features/participants/draft.ts";
import { EMPTY, newSeat } from "../src/features/participants/setup.ts";
import { given, gone, has } from "../src/features/participants/tools.ts";
import type { ListedServer } from "../src/api/types.ts";

const tool = (name: string) => ({ name, description: "", effects: false, trusted: false });
const WORDS: ListedServer = {
  name: "words",
  whose: "server",
  tools: [tool("words/look_up"), tool("words/write_down")],
  error: null,
};

test("a whole server is all of its tools, and takes the place of single ones", () => {
  const whole = given(["moot", "words/look_up"], "words", true, WORDS);
  assert.deepEqual(whole, ["moot", "words"]);
  assert.ok(has(whole, "words/write_down"));
  assert.deepEqual(given(whole, "words", false, WORDS), ["moot"]);
});

test("whoever loses one tool of a whole server keeps the others", () => {
  assert.deepEqual(given(["words"], "words/look_up", false, WORDS), ["words/write_down"]);
  assert.deepEqual(given([], "words/look_up", true, WORDS), ["words/look_up"]);
});

test("what is not there any more is found, but not where its server only cannot be reached", () => {
  assert.deepEqual(gone(["words", "words/old", "left/x"], [WORDS]), ["words/old", "left/x"]);
  assert.deepEqual(gone(["words/look_up"], [{ ...WORDS, tools: [], error: "It does not answer." }]), []);
});

test("the server is told of tools where a voice has some", () => {
  const seats = [newSeat("a/b", { tools: ["words"] }), newSeat("a/b")];
  const draft = {
    message: "Hi",
    table: { ...EMPTY, seats },
    project: null,
    language: null,
    cap: null,
    files: [],
  };
  assert.deepEqual(bodyOf(draft, []).participants, [{ model: "a/b", tools: ["words"] }, { model: "a/b" }]);
});
