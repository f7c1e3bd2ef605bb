import type { StreamEvent } from "../src/api/event-stream.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { applyEvents, emptyDiscussion, withMessage, withPage } from "../src/state/discussion.ts";
import { failedRegeneration } from "../src/state/turn.ts";
import { begins, ended, live, message, numbered, page, says, started, stops } from "./events.ts";

const ANSWER = message("msg_2", "run_1", "alpha", "Round.", 2);
const READ = withPage(emptyDiscussion("dis_1"), page([message("msg_1", "run_1", null, "Which?"), ANSWER]));
const begun = (open = READ) =>
  applyEvents(open, [
    { type: "activity", runs: [live("run_2", "msg_2")], awaiting_approval: [] } satisfies StreamEvent,
  ]);
const AGAIN = (...events: readonly object[]) => numbered("run_2", started, begins("alpha"), ...events);
const turnOf = (open = READ) => open.runs[0]?.turns[0];

test("another version is heard in the turn that it renews, and the one before stays until it is there", () => {
  assert.equal(turnOf(begun())?.regeneration?.state, "waiting");
  const open = applyEvents(begun(), AGAIN(says("alpha", "Squ")));
  assert.equal(turnOf(open)?.regeneration?.text, "Squ");
  assert.equal(turnOf(open)?.text, "Round.");
});

test("when it is there it takes the place, and counts as one more version", () => {
  const open = applyEvents(begun(), AGAIN(says("alpha", "Squ"), stops("alpha", "Square."), ended()));
  const turn = turnOf(open);
  assert.deepEqual([turn?.text, turn?.version, turn?.versions], ["Square.", 2, 2]);
  assert.equal(turn?.regeneration, null);
  assert.equal(turn?.message, "msg_2");
});

test("what was read already is not counted twice", () => {
  const read = withPage(begun(), page([{ ...ANSWER, content: "Square.", version: 2, versions: 2 }]));
  const turn = turnOf(applyEvents(read, AGAIN(stops("alpha", "Square."), ended())));
  assert.deepEqual([turn?.text, turn?.versions, turn?.regeneration], ["Square.", 2, null]);
});

test("an attempt that fails changes nothing that is shown, and says why", () => {
  const fault = { kind: "overloaded", message: "Busy.", retryable: true, retry_after: null };
  const events = AGAIN({ ...stops("alpha", "", "failed"), fault }, ended("failed"));
  const turn = turnOf(applyEvents(begun(), events));
  assert.equal(turn?.text, "Round.");
  assert.equal(turn?.regeneration?.fault?.message, "Busy.");
});

test("one that breaks off is no version either, and says why", () => {
  const fault = { kind: "network", message: "The line broke.", retryable: true, retry_after: null };
  const events = AGAIN(says("alpha", "Squ"), { ...stops("alpha", "Squ", "partial"), fault }, ended());
  const turn = turnOf(applyEvents(begun(), events));
  assert.ok(turn);
  assert.deepEqual([turn.text, turn.versions], ["Round.", 1]);
  assert.equal(failedRegeneration(turn)?.fault?.message, "The line broke.");
});

test("one that was stopped is forgotten", () => {
  const turn = turnOf(applyEvents(begun(), AGAIN(stops("alpha", "Squ", "stopped"), ended("stopped"))));
  assert.equal(turn?.text, "Round.");
  assert.equal(turn?.regeneration, null);
});

test("one that was stopped before it began is forgotten too", () => {
  const turn = turnOf(applyEvents(begun(), numbered("run_2", started, ended("stopped"))));
  assert.deepEqual([turn?.text, turn?.regeneration], ["Round.", null]);
});

test("an edited message is shown wherever it stands", () => {
  const open = withMessage(READ, { ...ANSWER, content: "Oval.", version: 2, versions: 2, edited: true });
  assert.deepEqual([turnOf(open)?.text, turnOf(open)?.edited, open.runs.length], ["Oval.", true, 1]);
  assert.equal(open.runs[0]?.userMessage?.content, "Which?");
});
