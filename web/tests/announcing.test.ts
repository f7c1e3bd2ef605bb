import assert from "node:assert/strict";
import { test } from "node:test";
import { announcement } from "../src/state/announcing.ts";
import { hear, opened } from "../src/state/discussion.ts";
import type { Event } from "../src/wire.ts";
import { begins, DISCUSSION, ended, numbered, says, started, stops } from "./events.ts";

const said = (...events: object[]) => {
  const open = hear(opened("dis_1"), numbered("run_1", ...events) as Event[]);
  return announcement(open.runs.at(-1), DISCUSSION);
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
  assert.equal(said(...all), "One answer is there. Beta failed.");
});

test("nothing is said of nothing", () => {
  assert.equal(announcement(undefined, DISCUSSION), "");
  assert.equal(said(started), "");
});
