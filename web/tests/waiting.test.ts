import assert from "node:assert/strict";
import { test } from "node:test";
import { applyEvents, emptyDiscussion, withPage } from "../src/state/discussion.ts";
import { turnNotices, withWaitingTurns, type Run } from "../src/state/run.ts";
import type { DiscussionDetail } from "../src/api/types.ts";
import {
  turnStarted,
  DISCUSSION,
  runEnded,
  liveRun,
  message,
  numberEvents,
  page,
  textDelta,
  runStarted,
  turnEnded,
} from "./events.ts";

const runOf = (...events: readonly object[]): Run => {
  const open = withPage(emptyDiscussion("dis_1"), page([message("msg_1", "run_1", null, "Which?")]));
  const [run] = applyEvents(open, numberEvents("run_1", runStarted, ...events)).runs;
  assert.ok(run);
  return run;
};
const waiting = (run: Run) =>
  withWaitingTurns(run.turns, run, DISCUSSION).map((turn) => `${turn.participant} ${turn.state}`);

test("participants wait until their turn starts or the run ends", () => {
  assert.deepEqual(waiting(runOf(turnStarted("alpha"))), ["alpha speaking", "beta waiting"]);
  assert.deepEqual(waiting(runOf(turnStarted("alpha"), turnEnded("alpha", "Yes."), runEnded())), ["alpha completed"]);
});

test("only recipients of the message wait", () => {
  const question = { ...message("msg_1", "run_1", null, "You?"), visible_to: ["beta"] };
  const [run] = withPage(emptyDiscussion("dis_1"), page([question], [liveRun("run_1")])).runs;
  assert.ok(run);
  assert.deepEqual(waiting(run), ["beta waiting"]);
});

const notice = (kind: string, participant: string | null = "alpha") => ({
  type: "notice",
  kind,
  message: `${kind}.`,
  participant,
  charge: null,
});
const noticeKinds = (run: Run) => {
  const [turn] = run.turns;
  assert.ok(turn);
  return turnNotices(run, turn).map((one) => one.kind);
};

test("the newest notice about attempts is shown until text arrives", () => {
  const attempts = [turnStarted("alpha"), notice("retry"), notice("waiting"), notice("missing", "beta")];
  assert.deepEqual(noticeKinds(runOf(...attempts)), ["waiting"]);
  assert.deepEqual(noticeKinds(runOf(...attempts, turnStarted("alpha", 2), textDelta("alpha", "Yes"))), []);
});

test("a fallback notice stays after the turn", () => {
  const run = runOf(
    turnStarted("alpha"),
    notice("fallback"),
    turnStarted("alpha"),
    turnEnded("alpha", "Yes."),
    runEnded(),
  );
  assert.deepEqual(noticeKinds(run), ["fallback"]);
});

test("loaded notices are shown, and not repeated by the stream", () => {
  const [, ...notices] = numberEvents("run_1", runStarted, notice("fallback"), {
    type: "reference_summarized",
    title: "Chairs",
  });
  const loaded = { ...page([message("msg_2", "run_1", "alpha", "Yes.", 9)]), notices } as DiscussionDetail;
  const [run] = withPage(emptyDiscussion("dis_1"), loaded).runs;
  assert.ok(run);
  assert.deepEqual(noticeKinds(run), ["fallback"]);
  assert.deepEqual(
    run.referenceSummaries.map((one) => one.title),
    ["Chairs"],
  );
  const [streamed] = applyEvents(withPage(emptyDiscussion("dis_1"), loaded), notices).runs;
  assert.equal(streamed?.notices.length, 1);
  assert.equal(streamed?.referenceSummaries.length, 1);
});

test("each turn has its own notices, both live and after a reload", () => {
  const round = (round: number) => [
    { ...turnStarted("alpha"), round },
    { ...notice("fallback"), message: `${round}` },
    { ...turnEnded("alpha", "Yes."), round },
  ];
  const live = runOf(...round(0), ...round(1), runEnded());
  const answers = live.turns.map((turn, place) => ({
    ...message(`msg_${place}`, "run_1", "alpha", "Yes.", turn.at),
    round: place,
  }));
  const [reloaded] = withPage(emptyDiscussion("dis_1"), { ...page(answers), notices: live.notices }).runs;
  for (const run of [live, reloaded]) {
    const messages = run?.turns.map((turn) => turnNotices(run, turn).map((one) => one.message));
    assert.deepEqual(messages, [["0"], ["1"]]);
  }
});
