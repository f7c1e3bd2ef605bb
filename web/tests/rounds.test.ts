import assert from "node:assert/strict";
import { test } from "node:test";
import { findSpeakerStatus, buildRounds } from "../src/features/modes/rounds/rounds.ts";
import { withServerRun, type Run } from "../src/state/run.ts";
import { turnEndedIn, runFromEvents, PARTICIPANTS, turnStartedIn, stageStarted } from "./debates.ts";
import { runEnded, liveRun } from "./events.ts";

const shape = (run: Run) =>
  buildRounds(run, PARTICIPANTS.length).map((round) => round.turns.map((turn) => turn.participant));
const FIRST_ROUND = [stageStarted("round"), ...PARTICIPANTS.map((who) => turnEndedIn(who, "round"))];

test("rounds follow the round numbers of the turns", () => {
  const run = runFromEvents(...FIRST_ROUND, stageStarted("round", 1), turnStartedIn("alpha", "round", 1));
  assert.deepEqual(shape(run), [PARTICIPANTS, ["alpha"]]);
});

test("in a continued run, one turn of each participant is a round", () => {
  const steps = ["beta", "gamma", "alpha", "beta"].map((who, step) => turnEndedIn(who, "continue", "completed", step));
  assert.deepEqual(shape(runFromEvents(...steps)), [["beta", "gamma", "alpha"], ["beta"]]);
});

test("the current speaker is known, and the next participant follows", () => {
  const run = runFromEvents(...FIRST_ROUND.slice(0, 2), turnStartedIn("beta", "round"));
  assert.deepEqual(findSpeakerStatus(run, PARTICIPANTS, 6), {
    speaker: "beta",
    nextSpeaker: "gamma",
    finishedTurns: 1,
    totalTurns: 6,
  });
});

test("after the last participant, the first one follows if turns are left", () => {
  const last = runFromEvents(...FIRST_ROUND.slice(0, 3), turnStartedIn("gamma", "round"));
  assert.equal(findSpeakerStatus(last, PARTICIPANTS, 6)?.nextSpeaker, "alpha");
  assert.equal(findSpeakerStatus(last, PARTICIPANTS, 3)?.nextSpeaker, null);
  assert.equal(findSpeakerStatus(last, PARTICIPANTS, null)?.nextSpeaker, null);
});

test("the first speaker is known in a round, and unknown in a continued run", () => {
  const run = runFromEvents();
  const mode = (name: string) => withServerRun(run, { ...liveRun("run_1"), mode: name });
  assert.equal(findSpeakerStatus(mode("consensus"), PARTICIPANTS, 6)?.nextSpeaker, "alpha");
  assert.equal(findSpeakerStatus(mode("continue"), PARTICIPANTS, 6)?.nextSpeaker, null);
});

test("an ended run has no speaker", () => {
  assert.equal(findSpeakerStatus(runFromEvents(...FIRST_ROUND, runEnded()), PARTICIPANTS, 6), null);
});
