import type { StreamEvent } from "../src/api/event-stream.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { applyEvents, emptyDiscussion, withMessage, withPage } from "../src/state/discussion.ts";
import { failedRegeneration } from "../src/state/turn.ts";
import {
  turnStarted,
  runEnded,
  liveRun,
  message,
  numberEvents,
  page,
  textDelta,
  runStarted,
  turnEnded,
} from "./events.ts";

const ANSWER = message("msg_2", "run_1", "alpha", "Round.", 2);
const LOADED = withPage(emptyDiscussion("dis_1"), page([message("msg_1", "run_1", null, "Which?"), ANSWER]));
const withRegenerationStarted = (open = LOADED) =>
  applyEvents(open, [
    { type: "activity", runs: [liveRun("run_2", "msg_2")], awaiting_approval: [] } satisfies StreamEvent,
  ]);
const regenerationEvents = (...events: readonly object[]) =>
  numberEvents("run_2", runStarted, turnStarted("alpha"), ...events);
const turnOf = (open = LOADED) => open.runs[0]?.turns[0];

test("a regeneration streams into its turn, and the old answer stays until it ends", () => {
  assert.equal(turnOf(withRegenerationStarted())?.regeneration?.state, "waiting");
  const open = applyEvents(withRegenerationStarted(), regenerationEvents(textDelta("alpha", "Squ")));
  assert.equal(turnOf(open)?.regeneration?.text, "Squ");
  assert.equal(turnOf(open)?.text, "Round.");
});

test("a regeneration that ends before the list of live runs names it is no second answer", () => {
  const events = numberEvents(
    "run_2",
    { ...runStarted, regenerates: "msg_2" },
    turnStarted("alpha"),
    turnEnded("alpha", "Square."),
    runEnded(),
  );
  const open = applyEvents(LOADED, events);
  assert.deepEqual([turnOf(open)?.text, turnOf(open)?.versions], ["Square.", 2]);
  assert.equal(open.runs[1]?.regenerate, "msg_2");
});

test("a completed regeneration becomes the new version", () => {
  const open = applyEvents(
    withRegenerationStarted(),
    regenerationEvents(textDelta("alpha", "Squ"), turnEnded("alpha", "Square."), runEnded()),
  );
  const turn = turnOf(open);
  assert.deepEqual([turn?.text, turn?.version, turn?.versions], ["Square.", 2, 2]);
  assert.equal(turn?.regeneration, null);
  assert.equal(turn?.message, "msg_2");
});

test("a version that is already loaded is not counted twice", () => {
  const loaded = withPage(
    withRegenerationStarted(),
    page([{ ...ANSWER, content: "Square.", version: 2, versions: 2 }]),
  );
  const turn = turnOf(applyEvents(loaded, regenerationEvents(turnEnded("alpha", "Square."), runEnded())));
  assert.deepEqual([turn?.text, turn?.versions, turn?.regeneration], ["Square.", 2, null]);
});

test("a failed regeneration keeps the answer and has a fault", () => {
  const fault = { kind: "overloaded", message: "Busy.", retryable: true, retry_after: null };
  const events = regenerationEvents({ ...turnEnded("alpha", "", "failed"), fault }, runEnded("failed"));
  const turn = turnOf(applyEvents(withRegenerationStarted(), events));
  assert.equal(turn?.text, "Round.");
  assert.equal(turn?.regeneration?.fault?.message, "Busy.");
});

test("a partial regeneration is no version and has a fault", () => {
  const fault = { kind: "network", message: "The line broke.", retryable: true, retry_after: null };
  const events = regenerationEvents(
    textDelta("alpha", "Squ"),
    { ...turnEnded("alpha", "Squ", "partial"), fault },
    runEnded(),
  );
  const turn = turnOf(applyEvents(withRegenerationStarted(), events));
  assert.ok(turn);
  assert.deepEqual([turn.text, turn.versions], ["Round.", 1]);
  assert.equal(failedRegeneration(turn)?.fault?.message, "The line broke.");
});

test("a stopped regeneration is discarded", () => {
  const turn = turnOf(
    applyEvents(
      withRegenerationStarted(),
      regenerationEvents(turnEnded("alpha", "Squ", "stopped"), runEnded("stopped")),
    ),
  );
  assert.equal(turn?.text, "Round.");
  assert.equal(turn?.regeneration, null);
});

test("a regeneration that was stopped before its turn is discarded", () => {
  const turn = turnOf(applyEvents(withRegenerationStarted(), numberEvents("run_2", runStarted, runEnded("stopped"))));
  assert.deepEqual([turn?.text, turn?.regeneration], ["Round.", null]);
});

test("an edited message replaces the answer", () => {
  const open = withMessage(LOADED, { ...ANSWER, content: "Oval.", version: 2, versions: 2, edited: true });
  assert.deepEqual([turnOf(open)?.text, turnOf(open)?.edited, open.runs.length], ["Oval.", true, 1]);
  assert.equal(open.runs[0]?.userMessage?.content, "Which?");
});
