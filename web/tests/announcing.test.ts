import assert from "node:assert/strict";
import { test } from "node:test";
import { runAnnouncement } from "../src/state/announcements.ts";
import { applyEvents, emptyDiscussion, withPage } from "../src/state/discussion.ts";
import type { Event } from "../src/api/types.ts";
import { begins, DISCUSSION, ended, message, numbered, page, says, started, stops } from "./events.ts";

const said = (...events: object[]) => {
  const open = applyEvents(emptyDiscussion("dis_1"), numbered("run_1", ...events) as Event[]);
  return runAnnouncement(open.runs.at(-1), DISCUSSION);
};

test("words that come do not make new announcements", () => {
  const begun = [started, begins("alpha"), begins("beta")];
  assert.equal(said(...begun), "Alpha and Beta are speaking.");
  assert.equal(said(...begun, says("alpha", "Round")), said(...begun));
});

test("the end tells how many answered and who failed", () => {
  const all = [
    started,
    begins("alpha"),
    begins("beta"),
    stops("alpha", "Round."),
    stops("beta", "", "failed"),
    ended(),
  ];
  assert.equal(said(...all), "One answer is ready. Beta failed.");
});

test("who was stopped is said while others go on, and at the end", () => {
  const begun = [started, begins("alpha"), begins("beta"), stops("alpha", "Round", "stopped")];
  assert.equal(said(...begun), "Alpha was stopped. Beta is speaking.");
  const over = [...begun, stops("beta", "", "stopped"), ended("stopped")];
  assert.equal(said(...over), "0 answers are ready. Alpha and Beta were stopped.");
});

test("who was stopped is said after a reload", () => {
  const stopped = { ...message("msg_2", "run_1", "alpha", "Round"), status: "stopped" } as const;
  const read = withPage(emptyDiscussion("dis_1"), page([message("msg_1", "run_1", null, "Which?"), stopped]));
  assert.equal(runAnnouncement(read.runs.at(-1), DISCUSSION), "0 answers are ready. Alpha was stopped.");
});

test("nothing is said of nothing", () => {
  assert.equal(runAnnouncement(undefined, DISCUSSION), "");
  assert.equal(said(started), "");
});
