import assert from "node:assert/strict";
import { test } from "node:test";
import { applyEvents, emptyDiscussion, withPage } from "../src/state/discussion.ts";
import { turnNotices } from "../src/state/notices.ts";
import type { Run } from "../src/state/run.ts";
import { withWaitingTurns } from "../src/state/waiting.ts";
import type { DiscussionDetail } from "../src/api/types.ts";
import { begins, DISCUSSION, ended, live, message, numbered, page, says, started, stops } from "./events.ts";

const runOf = (...events: readonly object[]): Run => {
  const asked = withPage(emptyDiscussion("dis_1"), page([message("msg_1", "run_1", null, "Which?")]));
  const [run] = applyEvents(asked, numbered("run_1", started, ...events)).runs;
  assert.ok(run);
  return run;
};
const waiting = (run: Run) =>
  withWaitingTurns(run.turns, run, DISCUSSION).map((turn) => `${turn.participant} ${turn.state}`);

test("whoever has not begun waits, and nobody waits when it is over", () => {
  assert.deepEqual(waiting(runOf(begins("alpha"))), ["alpha speaking", "beta waiting"]);
  assert.deepEqual(waiting(runOf(begins("alpha"), stops("alpha", "Yes."), ended())), ["alpha completed"]);
});

test("only those wait who are spoken to", () => {
  const asked = { ...message("msg_1", "run_1", null, "You?"), visible_to: ["beta"] };
  const [run] = withPage(emptyDiscussion("dis_1"), page([asked], [live("run_1")])).runs;
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
const remarks = (run: Run) => {
  const [turn] = run.turns;
  assert.ok(turn);
  return turnNotices(run, turn).map((one) => one.kind);
};

test("while it tries, the newest remark is shown, and no longer when it speaks", () => {
  const tries = [begins("alpha"), notice("retry"), notice("waiting"), notice("missing", "beta")];
  assert.deepEqual(remarks(runOf(...tries)), ["waiting"]);
  assert.deepEqual(remarks(runOf(...tries, begins("alpha", 2), says("alpha", "Yes"))), []);
});

test("that another model was asked is worth knowing afterwards too", () => {
  const run = runOf(begins("alpha"), notice("fallback"), begins("alpha"), stops("alpha", "Yes."), ended());
  assert.deepEqual(remarks(run), ["fallback"]);
});

test("what was told of a run that is over is read with it, and heard once where it goes on", () => {
  const [, ...notices] = numbered("run_1", started, notice("fallback"), {
    type: "reference_summarized",
    title: "Chairs",
  });
  const read = { ...page([message("msg_2", "run_1", "alpha", "Yes.", 9)]), notices } as DiscussionDetail;
  const [run] = withPage(emptyDiscussion("dis_1"), read).runs;
  assert.ok(run);
  assert.deepEqual(remarks(run), ["fallback"]);
  assert.deepEqual(
    run.referenceSummaries.map((one) => one.title),
    ["Chairs"],
  );
  const [again] = applyEvents(withPage(emptyDiscussion("dis_1"), read), notices).runs;
  assert.equal(again?.notices.length, 1);
  assert.equal(again?.referenceSummaries.length, 1);
});

test("each of several turns has its own remarks, when they are heard and when they are read", () => {
  const round = (round: number) => [
    { ...begins("alpha"), round },
    { ...notice("fallback"), message: `${round}` },
    { ...stops("alpha", "Yes."), round },
  ];
  const heard = runOf(...round(0), ...round(1), ended());
  const answers = heard.turns.map((turn, place) => ({
    ...message(`msg_${place}`, "run_1", "alpha", "Yes.", turn.at),
    round: place,
  }));
  const [read] = withPage(emptyDiscussion("dis_1"), { ...page(answers), notices: heard.notices }).runs;
  for (const run of [heard, read]) {
    const words = run?.turns.map((turn) => turnNotices(run, turn).map((one) => one.message));
    assert.deepEqual(words, [["0"], ["1"]]);
  }
});
