import assert from "node:assert/strict";
import { test } from "node:test";
import { runAnnouncement } from "../src/state/announcements.ts";
import { applyEvents, emptyDiscussion, withPage } from "../src/state/discussion.ts";
import type { Event } from "../src/api/types.ts";
import {
  turnStarted,
  DISCUSSION,
  runEnded,
  message,
  numberEvents,
  page,
  textDelta,
  runStarted,
  turnEnded,
} from "./events.ts";

const announcement = (...events: object[]) => {
  const open = applyEvents(emptyDiscussion("dis_1"), numberEvents("run_1", ...events) as Event[]);
  return runAnnouncement(open.runs.at(-1), DISCUSSION);
};

test("text deltas do not change the announcement", () => {
  const events = [runStarted, turnStarted("alpha"), turnStarted("beta")];
  assert.equal(announcement(...events), "Alpha and Beta are speaking.");
  assert.equal(announcement(...events, textDelta("alpha", "Round")), announcement(...events));
});

test("at the end, the announcement has the number of answers and the failed participants", () => {
  const all = [
    runStarted,
    turnStarted("alpha"),
    turnStarted("beta"),
    turnEnded("alpha", "Round."),
    turnEnded("beta", "", "failed"),
    runEnded(),
  ];
  assert.equal(announcement(...all), "One answer is ready. Beta failed.");
});

test("stopped participants are announced during and after the run", () => {
  const events = [runStarted, turnStarted("alpha"), turnStarted("beta"), turnEnded("alpha", "Round", "stopped")];
  assert.equal(announcement(...events), "Alpha was stopped. Beta is speaking.");
  const over = [...events, turnEnded("beta", "", "stopped"), runEnded("stopped")];
  assert.equal(announcement(...over), "0 answers are ready. Alpha and Beta were stopped.");
});

test("stopped participants are announced after a reload", () => {
  const stopped = { ...message("msg_2", "run_1", "alpha", "Round"), status: "stopped" } as const;
  const loaded = withPage(emptyDiscussion("dis_1"), page([message("msg_1", "run_1", null, "Which?"), stopped]));
  assert.equal(runAnnouncement(loaded.runs.at(-1), DISCUSSION), "0 answers are ready. Alpha was stopped.");
});

test("a run without turns has no announcement", () => {
  assert.equal(runAnnouncement(undefined, DISCUSSION), "");
  assert.equal(announcement(runStarted), "");
});
