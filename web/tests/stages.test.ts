import assert from "node:assert/strict";
import { test } from "node:test";
import { hasNoAnswer, buildLanes, buildStages } from "../src/features/modes/debate/stages.ts";
import type { Run } from "../src/state/run.ts";
import type { LaneReport } from "../src/api/types.ts";
import {
  FIRST_ANSWERS_STARTED,
  turnEndedIn,
  FIRST_ANSWERS_ENDED,
  runFromEvents,
  PARTICIPANTS,
  turnStartedIn,
  stageStarted,
  notice,
} from "./debates.ts";
import { approvalRequested, toolCall, runEnded, approvalResolved } from "./events.ts";

const lanes = (run: Run, reports: readonly LaneReport[] = []) => buildLanes(run, PARTICIPANTS, reports);
const states = (run: Run) => buildStages(run, lanes(run)).map((stage) => stage.state);
const counts = (run: Run) =>
  buildStages(run, lanes(run)).map((stage) => `${stage.finishedCount} of ${stage.expectedCount}`);

test("during the first answers, later stages are ahead", () => {
  const run = runFromEvents(...FIRST_ANSWERS_STARTED, turnEndedIn("alpha", "initial"));
  assert.deepEqual(states(run), ["now", "ahead", "ahead"]);
  assert.deepEqual(counts(run), ["1 of 3", "0 of 1", "0 of 1"]);
});

test("only participants that answered take part in the debate", () => {
  const run = runFromEvents(...FIRST_ANSWERS_ENDED, turnEndedIn("gamma", "initial", "failed"), stageStarted("debate"));
  assert.deepEqual(states(run), ["done", "now", "ahead"]);
  assert.deepEqual(counts(run), ["2 of 3", "0 of 2", "0 of 1"]);
  const gamma = lanes(run).find((lane) => lane.participant === "gamma");
  assert.equal(gamma?.state, "failed");
});

test("a lane awaits approval until the request is resolved", () => {
  const inInitialStage = (event: object) => ({ ...event, stage: "initial" });
  const events = [
    ...FIRST_ANSWERS_STARTED,
    ...[toolCall("beta", "c1"), approvalRequested("beta", "c1")].map(inInitialStage),
  ];
  const awaitingApproval = (run: Run) =>
    lanes(run).flatMap((lane) => (lane.isAwaitingApproval ? lane.participant : []));
  assert.deepEqual(awaitingApproval(runFromEvents(...events)), ["beta"]);
  assert.deepEqual(awaitingApproval(runFromEvents(...events, inInitialStage(approvalResolved("beta", "c1")))), []);
});

test("a debate is marked as skipped when the synthesis starts without it", () => {
  const run = runFromEvents(...FIRST_ANSWERS_ENDED, stageStarted("synthesis"), turnStartedIn("alpha", "synthesis"));
  assert.deepEqual(states(run), ["done", "skipped", "now"]);
});

test("a retry after the end reopens the stage of its turn", () => {
  const over = [
    ...FIRST_ANSWERS_ENDED,
    turnEndedIn("gamma", "initial", "failed"),
    ...[stageStarted("debate"), turnEndedIn("alpha", "debate"), turnEndedIn("beta", "debate")],
    ...[stageStarted("synthesis"), turnEndedIn("alpha", "synthesis"), runEnded()],
  ];
  assert.deepEqual(states(runFromEvents(...over)), ["done", "done", "done"]);
  const retried = runFromEvents(...over, notice("retried", "Again."), turnStartedIn("gamma", "initial"));
  assert.deepEqual(states(retried), ["now", "done", "done"]);
  assert.equal(lanes(retried).some(hasNoAnswer), false);
  const resynthesized = runFromEvents(
    ...over,
    notice("retried", "Again."),
    turnEndedIn("gamma", "debate"),
    stageStarted("synthesis", 1),
  );
  assert.deepEqual(states(resynthesized), ["done", "done", "now"]);
});

test("a stage is stopped if the run or all of its turns were stopped", () => {
  const all = [turnEndedIn("alpha", "initial", "stopped"), turnEndedIn("beta", "initial", "stopped")];
  assert.deepEqual(states(runFromEvents(...FIRST_ANSWERS_STARTED, ...all, runEnded("stopped"))), [
    "stopped",
    "skipped",
    "skipped",
  ]);
  const one = [...FIRST_ANSWERS_STARTED, turnEndedIn("alpha", "initial"), turnEndedIn("beta", "initial", "stopped")];
  assert.equal(states(runFromEvents(...one, runEnded()))[0], "done");
  assert.equal(states(runFromEvents(...one, runEnded("stopped")))[0], "stopped");
});

test("the newest synthesis is shown, and earlier ones are listed", () => {
  const run = runFromEvents(
    ...FIRST_ANSWERS_ENDED,
    turnEndedIn("alpha", "synthesis"),
    turnEndedIn("beta", "synthesis", "completed", 1),
  );
  const synthesis = buildStages(run, lanes(run)).at(-1);
  assert.deepEqual(
    [synthesis?.turns, synthesis?.earlierTurns].map((some) => some?.map((turn) => turn.participant)),
    [["beta"], ["alpha"]],
  );
});

test("late and stopped lanes have their own state", () => {
  const run = runFromEvents(
    ...FIRST_ANSWERS_ENDED,
    turnEndedIn("gamma", "initial", "failed"),
    turnEndedIn("beta", "debate", "stopped"),
  );
  const late = [{ participant: "gamma", status: "error", late: true } as LaneReport];
  assert.deepEqual(
    lanes(run, late).map((lane) => lane.state),
    ["answered", "stopped", "late"],
  );
});

test("the report gives the state of a lane without a turn", () => {
  const failed = [{ participant: "gamma", status: "error", error: "Lost.", late: false } as LaneReport];
  const gamma = lanes(runFromEvents(...FIRST_ANSWERS_STARTED), failed)[2];
  assert.equal(gamma?.state, "failed");
});
