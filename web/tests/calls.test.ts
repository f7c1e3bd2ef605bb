import assert from "node:assert/strict";
import { test } from "node:test";
import { runAnnouncement } from "../src/state/announcements.ts";
import { splitAtCalls, formatArguments, describeCallStatus } from "../src/state/tool-calls.ts";
import { applyEvents, emptyDiscussion, withPage } from "../src/state/discussion.ts";
import { isAwaitingApproval } from "../src/state/turn.ts";
import { REFUSED } from "../src/api/types.ts";
import { asks, begins, calls, DISCUSSION, ended, isTold, live, message, numbered } from "./events.ts";
import { page, returns, says, started, stops } from "./events.ts";

const ASKED = [started, begins("alpha"), says("alpha", "I keep 🎲 that."), calls("alpha", "c1")];
const heard = (...events: object[]) => applyEvents(emptyDiscussion("dis_1"), numbered("run_1", ...events));
const turnOf = (...events: object[]) => heard(...events).runs[0]!.turns[0]!;
const USE = {
  call_id: "c1",
  name: "words/write_down",
  arguments: '{"text":"Round."}',
  content: "Kept.",
  is_error: false,
  seconds: 1.24,
  text_offset: 14,
};

test("a call runs, waits for a person, and is done", () => {
  const states = [
    ASKED,
    [...ASKED, asks("alpha", "c1")],
    [...ASKED, asks("alpha", "c1"), isTold("alpha", "c1")],
    [...ASKED, asks("alpha", "c1"), isTold("alpha", "c1"), returns("alpha", "c1")],
  ].map((events) => describeCallStatus(turnOf(...events).calls[0]!, true));
  assert.deepEqual(states, ["running", "waiting for you", "running", "done in 1.2 s"]);
});

test("a call that failed, and one whose turn ended without a result, say so", () => {
  const [failed] = turnOf(...ASKED, returns("alpha", "c1", "Refused.", true)).calls;
  const [cut] = turnOf(...ASKED, stops("alpha", "I keep 🎲 that.", "stopped")).calls;
  assert.equal(describeCallStatus(failed!, true), "failed");
  assert.equal(describeCallStatus(cut!, false), "cut off");
});

test("a call that a person refused is refused, and did not fail", () => {
  const [refused] = turnOf(...ASKED, returns("alpha", "c1", REFUSED, true)).calls;
  assert.equal(describeCallStatus(refused!, true), "denied");
});

test("a call stands where it was made, the same live and as it is read later", () => {
  const text = "I keep 🎲 that.\n\nDone.";
  const all = [...ASKED, returns("alpha", "c1"), says("alpha", "\n\nDone."), stops("alpha", text)];
  const known = turnOf(...all);
  const stored = { ...message("msg_2", "run_1", "alpha", text), tools: [USE] };
  const read = withPage(emptyDiscussion("dis_1"), page([stored])).runs[0]!.turns[0]!;
  const shape = [{ text: "I keep 🎲 that." }, { call: read.calls[0]! }, { text: "\n\nDone." }];
  assert.deepEqual(splitAtCalls(read.text, read.calls), shape);
  assert.deepEqual(splitAtCalls(known.text, known.calls), shape);
});

test("what a shorter text no longer has takes no call away", () => {
  const { calls: some } = turnOf(...ASKED);
  assert.deepEqual(splitAtCalls("No.", some), [{ text: "No." }, { call: some[0] }]);
  assert.deepEqual(splitAtCalls("", some), [{ call: some[0] }]);
});

test("somebody waits for an answer until one comes from anywhere, or the turn ends", () => {
  assert.equal(isAwaitingApproval(turnOf(...ASKED)), false);
  const asked = [...ASKED, asks("alpha", "c1", true)];
  assert.equal(isAwaitingApproval(turnOf(...asked)), true);
  assert.deepEqual(turnOf(...asked).calls[0]?.pendingApproval, { expiresAt: 604, isRepeated: true });
  assert.equal(isAwaitingApproval(turnOf(...asked, isTold("alpha", "c1", "refuse"))), false);
  assert.equal(isAwaitingApproval(turnOf(...asked, stops("alpha", "", "stopped"), ended("stopped"))), false);
});

test("what is asked is said aloud", () => {
  const open = heard(...ASKED, asks("alpha", "c1"));
  const said = "Alpha needs approval to call words/write_down. Alpha is speaking.";
  assert.equal(runAnnouncement(open.runs.at(-1), DISCUSSION), said);
});

test("a turn that begins anew has called nothing yet", () => {
  assert.deepEqual(turnOf(...ASKED, begins("alpha", 2)).calls, []);
});

test("another version has its own calls", () => {
  const before = withPage(emptyDiscussion("dis_1"), page([message("msg_2", "run_1", "alpha", "Old.")]));
  const again = withPage(before, page([], [live("run_2", "msg_2")]));
  const spoken = [begins("alpha"), calls("alpha", "c9"), returns("alpha", "c9"), says("alpha", "New.")];
  const open = applyEvents(again, numbered("run_2", ...spoken, stops("alpha", "New."), ended()));
  assert.deepEqual(
    open.runs[0]?.turns[0]?.calls.map((call) => call.id),
    ["c9"],
  );
});

test("another version that waits for a person makes its answer wait", () => {
  const before = withPage(emptyDiscussion("dis_1"), page([message("msg_2", "run_1", "alpha", "Old.")]));
  const again = withPage(before, page([], [live("run_2", "msg_2")]));
  const open = applyEvents(
    again,
    numbered("run_2", begins("alpha"), calls("alpha", "c9"), asks("alpha", "c9")),
  );
  assert.equal(isAwaitingApproval(open.runs[0]!.turns[0]!), true);
});

test("arguments are written to be read, and as they came where they are no JSON", () => {
  assert.equal(formatArguments('{"a":1}'), '{\n  "a": 1\n}');
  assert.equal(formatArguments('{"a":'), '{"a":');
});
