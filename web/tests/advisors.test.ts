import assert from "node:assert/strict";
import { test } from "node:test";
import { splitAdvice, advisorState, advisorStateLabel } from "../src/features/modes/advisors/advisors.ts";
import { emptyDiscussion, type OpenDiscussion } from "../src/state/discussion.ts";
import { emptyRun, type Run } from "../src/state/run.ts";
import { emptyTurn, type Turn } from "../src/state/turn.ts";
import type { Discussion } from "../src/api/types.ts";
import { DISCUSSION } from "./events.ts";

function turn(run: string, who: string, change: Partial<Turn> = {}, stage = "answer"): Turn {
  return {
    ...emptyTurn(run, { participant: who, stage, round: 0 }, 0),
    state: "completed",
    text: "Why?",
    ...change,
  };
}

const run = (id: string, ...turns: readonly Turn[]): Run => ({ ...emptyRun(id), turns });
const open = (runs: readonly Run[], before: number | null = null): OpenDiscussion => ({
  ...emptyDiscussion("dis_1"),
  discussion: DISCUSSION,
  olderCursor: before,
  runs,
});
const three = ["1", "2", "3"].map((id) => run(id, turn(id, "alpha"), turn(id, "alpha", {}, "cross_talk")));
const current = run("4", turn("4", "alpha"), turn("4", "beta"));
const all = open([...three, current]);

test("an advisor asks questions in its first three turns and advises after that", () => {
  const [first, , third] = all.runs;
  assert.ok(first && third);
  assert.deepEqual(advisorState(all, DISCUSSION, first, "alpha"), { kind: "asks", turn: 1, total: 3 });
  assert.deepEqual(advisorState(all, DISCUSSION, third, "alpha"), { kind: "asks", turn: 3, total: 3 });
  assert.deepEqual(advisorState(all, DISCUSSION, current, "alpha"), { kind: "speaks" });
});

test("only an advisor's own turns count: one that joins late starts with questions", () => {
  assert.deepEqual(advisorState(all, DISCUSSION, current, "beta"), { kind: "asks", turn: 1, total: 3 });
  assert.deepEqual(advisorState(all, DISCUSSION, current, "beta", { isNext: true }), {
    kind: "asks",
    turn: 2,
    total: 3,
  });
});

test("failed turns, regenerated answers and syntheses do not count", () => {
  const runs = [
    run("1", turn("1", "alpha", { state: "failed" })),
    { ...run("2", turn("2", "alpha")), regenerate: "msg_1" },
    run("3", turn("3", "alpha", { role: "synthesis" }, "synthesis")),
    current,
  ];
  assert.deepEqual(advisorState(open(runs), DISCUSSION, current, "alpha"), {
    kind: "asks",
    turn: 1,
    total: 3,
  });
});

test("a discussion sets the number of question turns, and 0 skips them", () => {
  const options = (question_turns: number) => ({ ...DISCUSSION, advisors: { question_turns } }) as Discussion;
  const [first] = all.runs;
  assert.ok(first);
  assert.deepEqual(advisorState(all, options(0), first, "alpha"), { kind: "speaks" });
  assert.deepEqual(advisorState(all, options(5), current, "alpha"), { kind: "asks", turn: 4, total: 5 });
});

test("the state is unknown while older pages are not loaded", () => {
  const cut = open([...three.slice(1), current], 40);
  assert.equal(advisorState(cut, DISCUSSION, current, "alpha"), null);
  assert.deepEqual(advisorState(cut, DISCUSSION, current, "alpha", { isNext: true }), { kind: "speaks" });
});

test("a state has a label", () => {
  assert.equal(advisorStateLabel({ kind: "asks", turn: 2, total: 3 }), "Asking, round 2 of 3");
  assert.equal(advisorStateLabel({ kind: "speaks" }), "Advising");
});

test("turns are split into answers, replies, passes and syntheses", () => {
  const turns = [
    turn("1", "alpha"),
    turn("1", "alpha", { text: "You are wrong, Beta." }, "cross_talk"),
    turn("1", "beta", { text: "Pass. " }, "cross_talk"),
    turn("1", "alpha", { role: "synthesis" }, "synthesis"),
  ];
  const { answers, replies, passes, syntheses } = splitAdvice(turns);
  assert.deepEqual(
    [answers, replies, passes, syntheses].map((some) => some.map((one) => turns.indexOf(one))),
    [[0], [1], [2], [3]],
  );
});
