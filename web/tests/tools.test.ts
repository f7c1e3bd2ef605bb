import assert from "node:assert/strict";
import { test } from "node:test";
import { toDiscussionDraft, EMPTY_SETUP, newParticipant } from "../src/features/participants/setup.ts";
import { setToolAccess, missingTools, hasTool } from "../src/features/participants/tools.ts";
import type { ListedServer } from "../src/api/types.ts";

const tool = (name: string) => ({ name, description: "", has_effects: false, trusted: false });
const WORDS: ListedServer = {
  name: "words",
  owner: "server",
  tools: [tool("words/look_up"), tool("words/write_down")],
  error: null,
};

test("a whole server includes its tools and replaces single ones", () => {
  const whole = setToolAccess(["moot", "words/look_up"], "words", true, WORDS);
  assert.deepEqual(whole, ["moot", "words"]);
  assert.ok(hasTool(whole, "words/write_down"));
  assert.deepEqual(setToolAccess(whole, "words", false, WORDS), ["moot"]);
});

test("removing one tool of a whole server keeps the others", () => {
  assert.deepEqual(setToolAccess(["words"], "words/look_up", false, WORDS), ["words/write_down"]);
  assert.deepEqual(setToolAccess([], "words/look_up", true, WORDS), ["words/look_up"]);
});

test("missing tools are found, except those of a server that does not answer", () => {
  assert.deepEqual(missingTools(["words", "words/old", "left/x"], [WORDS]), ["words/old", "left/x"]);
  assert.deepEqual(missingTools(["words/look_up"], [{ ...WORDS, tools: [], error: "It does not answer." }]), []);
});

test("only participants with tools send them", () => {
  const participants = [newParticipant("a/b", { tools: ["words"] }), newParticipant("a/b")];
  const draft = {
    message: "Hi",
    setup: { ...EMPTY_SETUP, participants },
    project: null,
    language: null,
    maxCostUsd: null,
    files: [],
  };
  assert.deepEqual(toDiscussionDraft(draft, []).participants, [{ model: "a/b", tools: ["words"] }, { model: "a/b" }]);
});
