import assert from "node:assert/strict";
import { test } from "node:test";
import { hasNoAnswer, buildLanes, buildPhases } from "../src/features/modes/debate/phases.ts";
import type { Run } from "../src/state/run.ts";
import type { LaneReport } from "../src/api/types.ts";
import { BOTH_FIRST, ends, FIRST_OVER, heardOf, PEOPLE, speaks, stage, tells } from "./debates.ts";
import { asks, calls, ended, isTold } from "./events.ts";

const lanes = (run: Run, read: readonly LaneReport[] = []) => buildLanes(run, PEOPLE, read);
const states = (run: Run) => buildPhases(run, lanes(run)).map((phase) => phase.state);
const counts = (run: Run) =>
  buildPhases(run, lanes(run)).map((phase) => `${phase.finishedCount} of ${phase.expectedCount}`);

test("the first answers are being given, and the rest is ahead", () => {
  const run = heardOf(...BOTH_FIRST, ends("alpha", "initial"));
  assert.deepEqual(states(run), ["now", "ahead", "ahead"]);
  assert.deepEqual(counts(run), ["1 of 3", "0 of 1", "0 of 1"]);
});

test("those who answered take part in the debate, and those who failed do not", () => {
  const run = heardOf(...FIRST_OVER, ends("gamma", "initial", "failed"), stage("debate"));
  assert.deepEqual(states(run), ["done", "now", "ahead"]);
  assert.deepEqual(counts(run), ["2 of 3", "0 of 2", "0 of 1"]);
  const gamma = lanes(run).find((lane) => lane.participant === "gamma");
  assert.equal(gamma?.state, "failed");
});

test("a lane says whether it waits for a person, until it was answered", () => {
  const inFirst = (event: object) => ({ ...event, stage: "initial" });
  const called = [...BOTH_FIRST, ...[calls("beta", "c1"), asks("beta", "c1")].map(inFirst)];
  const asking = (run: Run) =>
    lanes(run).flatMap((lane) => (lane.isAwaitingApproval ? lane.participant : []));
  assert.deepEqual(asking(heardOf(...called)), ["beta"]);
  assert.deepEqual(asking(heardOf(...called, inFirst(isTold("beta", "c1")))), []);
});

test("a debate that does not take place is skipped as soon as the synthesis begins", () => {
  const run = heardOf(...FIRST_OVER, stage("synthesis"), speaks("alpha", "synthesis"));
  assert.deepEqual(states(run), ["done", "skipped", "now"]);
});

test("whoever tries again after the end is where it speaks", () => {
  const over = [
    ...FIRST_OVER,
    ends("gamma", "initial", "failed"),
    ...[stage("debate"), ends("alpha", "debate"), ends("beta", "debate")],
    ...[stage("synthesis"), ends("alpha", "synthesis"), ended()],
  ];
  assert.deepEqual(states(heardOf(...over)), ["done", "done", "done"]);
  const again = heardOf(...over, tells("retried", "Again."), speaks("gamma", "initial"));
  assert.deepEqual(states(again), ["now", "done", "done"]);
  assert.equal(lanes(again).some(hasNoAnswer), false);
  const anew = heardOf(...over, tells("retried", "Again."), ends("gamma", "debate"), stage("synthesis", 1));
  assert.deepEqual(states(anew), ["done", "done", "now"]);
});

test("a phase in which everybody was stopped is stopped, and one with others to the end is done", () => {
  const all = [ends("alpha", "initial", "stopped"), ends("beta", "initial", "stopped")];
  assert.deepEqual(states(heardOf(...BOTH_FIRST, ...all, ended("stopped"))), [
    "stopped",
    "skipped",
    "skipped",
  ]);
  const one = [...BOTH_FIRST, ends("alpha", "initial"), ends("beta", "initial", "stopped")];
  assert.equal(states(heardOf(...one, ended()))[0], "done");
  assert.equal(states(heardOf(...one, ended("stopped")))[0], "stopped");
});

test("of several syntheses the newest counts, and the others are kept", () => {
  const run = heardOf(...FIRST_OVER, ends("alpha", "synthesis"), ends("beta", "synthesis", "completed", 1));
  const synthesis = buildPhases(run, lanes(run)).at(-1);
  assert.deepEqual(
    [synthesis?.turns, synthesis?.earlierTurns].map((some) => some?.map((turn) => turn.participant)),
    [["beta"], ["alpha"]],
  );
});

test("who was too slow is late, and who was stopped is stopped", () => {
  const run = heardOf(...FIRST_OVER, ends("gamma", "initial", "failed"), ends("beta", "debate", "stopped"));
  const late = [{ participant: "gamma", status: "error", late: true } as LaneReport];
  assert.deepEqual(
    lanes(run, late).map((lane) => lane.state),
    ["answered", "stopped", "late"],
  );
});

test("of a lane without a turn, the report tells", () => {
  const failed = [{ participant: "gamma", status: "error", error: "Lost.", late: false } as LaneReport];
  const gamma = lanes(heardOf(...BOTH_FIRST), failed)[2];
  assert.equal(gamma?.state, "failed");
});
