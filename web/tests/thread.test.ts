import assert from "node:assert/strict";
import { test } from "node:test";
import { buildThread, type ThreadEntry } from "../src/features/modes/debate/thread.ts";
import { turnEndedIn, runFromEvents, turnStartedIn } from "./debates.ts";
import { message, textDelta } from "./events.ts";

const entryTexts = (entries: readonly ThreadEntry[]) =>
  entries.map((entry) =>
    entry.kind === "answer" ? `${entry.turn.stage}: ${entry.turn.text}` : `${entry.kind}: ${entry.message.content}`,
  );
const question = message("msg_1", "run_1", null, "Why?");
const first = { ...message("msg_2", "run_1", "alpha", "Because."), stage: "initial" };
const prompt = { ...message("msg_3", "run_1", null, "Read the others."), hidden: true, stage: "debate" };

test("live turns come after stored messages", () => {
  const run = runFromEvents(
    ...[turnEndedIn("alpha", "initial"), turnEndedIn("beta", "initial"), turnStartedIn("alpha", "debate")],
    {
      ...textDelta("alpha", "I keep"),
      stage: "debate",
    },
  );
  assert.deepEqual(entryTexts(buildThread([question, first, prompt], run, "alpha")), [
    "question: Why?",
    "initial: Because.",
    "prompt: Read the others.",
    "debate: I keep",
  ]);
});

test("a live retry replaces its stored message", () => {
  const run = runFromEvents(turnStartedIn("alpha", "initial"), {
    ...textDelta("alpha", "Anew"),
    stage: "initial",
  });
  assert.deepEqual(entryTexts(buildThread([question, first], run, "alpha")), ["question: Why?", "initial: Anew"]);
});

test("a thread does not contain the synthesis", () => {
  const run = runFromEvents(turnEndedIn("alpha", "initial"), turnStartedIn("alpha", "synthesis"));
  assert.deepEqual(entryTexts(buildThread([question, first], run, "alpha")), ["question: Why?", "initial: Because."]);
});
