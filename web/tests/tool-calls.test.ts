import assert from "node:assert/strict";
import { test } from "node:test";
import { runAnnouncement } from "../src/state/announcements.ts";
import { splitAtCalls, formatArguments, describeCallStatus } from "../src/state/turn.ts";
import { applyEvents, emptyDiscussion, withPage } from "../src/state/discussion.ts";
import { isAwaitingApproval } from "../src/state/turn.ts";
import { REFUSED } from "../src/api/types.ts";
import {
  approvalRequested,
  turnStarted,
  toolCall,
  DISCUSSION,
  runEnded,
  approvalResolved,
  liveRun,
  message,
  numberEvents,
} from "./events.ts";
import { page, toolResult, textDelta, runStarted, turnEnded } from "./events.ts";

const CALLED = [runStarted, turnStarted("alpha"), textDelta("alpha", "I keep 🎲 that."), toolCall("alpha", "c1")];
const openAfter = (...events: object[]) => applyEvents(emptyDiscussion("dis_1"), numberEvents("run_1", ...events));
const turnOf = (...events: object[]) => openAfter(...events).runs[0]!.turns[0]!;
const STORED_CALL = {
  call_id: "c1",
  name: "words/write_down",
  arguments: '{"text":"Round."}',
  content: "Kept.",
  is_error: false,
  seconds: 1.24,
  text_offset: 14,
};

test("a call runs, waits for approval, and is done", () => {
  const states = [
    CALLED,
    [...CALLED, approvalRequested("alpha", "c1")],
    [...CALLED, approvalRequested("alpha", "c1"), approvalResolved("alpha", "c1")],
    [...CALLED, approvalRequested("alpha", "c1"), approvalResolved("alpha", "c1"), toolResult("alpha", "c1")],
  ].map((events) => describeCallStatus(turnOf(...events).calls[0]!, true));
  assert.deepEqual(states, ["running", "waiting for you", "running", "done in 1.2 s"]);
});

test("failed calls and calls without a result have their own status", () => {
  const [failed] = turnOf(...CALLED, toolResult("alpha", "c1", "Refused.", true)).calls;
  const [unfinished] = turnOf(...CALLED, turnEnded("alpha", "I keep 🎲 that.", "stopped")).calls;
  assert.equal(describeCallStatus(failed!, true), "failed");
  assert.equal(describeCallStatus(unfinished!, false), "cut off");
});

test("a call that the user refused is denied, not failed", () => {
  const [refused] = turnOf(...CALLED, toolResult("alpha", "c1", REFUSED, true)).calls;
  assert.equal(describeCallStatus(refused!, true), "denied");
});

test("a call appears at its place in the text, both live and after a reload", () => {
  const text = "I keep 🎲 that.\n\nDone.";
  const all = [...CALLED, toolResult("alpha", "c1"), textDelta("alpha", "\n\nDone."), turnEnded("alpha", text)];
  const live = turnOf(...all);
  const stored = { ...message("msg_2", "run_1", "alpha", text), tools: [STORED_CALL] };
  const loaded = withPage(emptyDiscussion("dis_1"), page([stored])).runs[0]!.turns[0]!;
  const shape = [{ text: "I keep 🎲 that." }, { call: loaded.calls[0]! }, { text: "\n\nDone." }];
  assert.deepEqual(splitAtCalls(loaded.text, loaded.calls), shape);
  assert.deepEqual(splitAtCalls(live.text, live.calls), shape);
});

test("a call beyond the end of a shortened text is still shown", () => {
  const { calls } = turnOf(...CALLED);
  assert.deepEqual(splitAtCalls("No.", calls), [{ text: "No." }, { call: calls[0] }]);
  assert.deepEqual(splitAtCalls("", calls), [{ call: calls[0] }]);
});

test("a turn awaits approval until the request is resolved or the turn ends", () => {
  assert.equal(isAwaitingApproval(turnOf(...CALLED)), false);
  const requested = [...CALLED, approvalRequested("alpha", "c1", true)];
  assert.equal(isAwaitingApproval(turnOf(...requested)), true);
  assert.deepEqual(turnOf(...requested).calls[0]?.pendingApproval, { expiresAt: 604, isRepeated: true });
  assert.equal(isAwaitingApproval(turnOf(...requested, approvalResolved("alpha", "c1", "refuse"))), false);
  assert.equal(isAwaitingApproval(turnOf(...requested, turnEnded("alpha", "", "stopped"), runEnded("stopped"))), false);
});

test("an approval request is announced", () => {
  const open = openAfter(...CALLED, approvalRequested("alpha", "c1"));
  const announcement = "Alpha needs approval to call words/write_down. Alpha is speaking.";
  assert.equal(runAnnouncement(open.runs.at(-1), DISCUSSION), announcement);
});

test("a new attempt of a turn starts without calls", () => {
  assert.deepEqual(turnOf(...CALLED, turnStarted("alpha", 2)).calls, []);
});

test("a regenerated answer has its own calls", () => {
  const before = withPage(emptyDiscussion("dis_1"), page([message("msg_2", "run_1", "alpha", "Old.")]));
  const regenerating = withPage(before, page([], [liveRun("run_2", "msg_2")]));
  const events = [turnStarted("alpha"), toolCall("alpha", "c9"), toolResult("alpha", "c9"), textDelta("alpha", "New.")];
  const open = applyEvents(regenerating, numberEvents("run_2", ...events, turnEnded("alpha", "New."), runEnded()));
  assert.deepEqual(
    open.runs[0]?.turns[0]?.calls.map((call) => call.id),
    ["c9"],
  );
});

test("an answer awaits approval while its regeneration does", () => {
  const before = withPage(emptyDiscussion("dis_1"), page([message("msg_2", "run_1", "alpha", "Old.")]));
  const regenerating = withPage(before, page([], [liveRun("run_2", "msg_2")]));
  const open = applyEvents(
    regenerating,
    numberEvents("run_2", turnStarted("alpha"), toolCall("alpha", "c9"), approvalRequested("alpha", "c9")),
  );
  assert.equal(isAwaitingApproval(open.runs[0]!.turns[0]!), true);
});

test("arguments are formatted as JSON, and left unchanged if they are not JSON", () => {
  assert.equal(formatArguments('{"a":1}'), '{\n  "a": 1\n}');
  assert.equal(formatArguments('{"a":'), '{"a":');
});
