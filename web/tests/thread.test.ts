import assert from "node:assert/strict";
import { test } from "node:test";
import { buildThread, type ThreadEntry } from "../src/features/modes/debate/thread.ts";
import { ends, heardOf, speaks } from "./debates.ts";
import { message, says } from "./events.ts";

const told = (entries: readonly ThreadEntry[]) =>
  entries.map((entry) =>
    entry.kind === "answer"
      ? `${entry.turn.stage}: ${entry.turn.text}`
      : `${entry.kind}: ${entry.message.content}`,
  );
const asked = message("msg_1", "run_1", null, "Why?");
const first = { ...message("msg_2", "run_1", "alpha", "Because."), stage: "initial" };
const prompt = { ...message("msg_3", "run_1", null, "Read the others."), hidden: true, stage: "debate" };

test("what is being said comes after what is stored", () => {
  const run = heardOf(...[ends("alpha", "initial"), ends("beta", "initial"), speaks("alpha", "debate")], {
    ...says("alpha", "I keep"),
    stage: "debate",
  });
  assert.deepEqual(told(buildThread([asked, first, prompt], run, "alpha")), [
    "question: Why?",
    "initial: Because.",
    "prompt: Read the others.",
    "debate: I keep",
  ]);
});

test("a turn that is tried again stands instead of what was stored of it", () => {
  const run = heardOf(speaks("alpha", "initial"), { ...says("alpha", "Anew"), stage: "initial" });
  assert.deepEqual(told(buildThread([asked, first], run, "alpha")), ["question: Why?", "initial: Anew"]);
});

test("the synthesis is said to all, and not in a thread", () => {
  const run = heardOf(ends("alpha", "initial"), speaks("alpha", "synthesis"));
  assert.deepEqual(told(buildThread([asked, first], run, "alpha")), ["question: Why?", "initial: Because."]);
});
