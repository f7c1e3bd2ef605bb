import assert from "node:assert/strict";
import { test } from "node:test";
import { findSpeakerStatus, buildRounds } from "../src/features/modes/rounds/rounds.ts";
import { withServerRun, type Run } from "../src/state/run.ts";
import { ends, heardOf, PEOPLE, speaks, stage } from "./debates.ts";
import { ended, live } from "./events.ts";

const shape = (run: Run) =>
  buildRounds(run, PEOPLE.length).map((round) => round.turns.map((turn) => turn.participant));
const FIRST_ROUND = [stage("round"), ...PEOPLE.map((who) => ends(who, "round"))];

test("rounds are as they were opened", () => {
  const run = heardOf(...FIRST_ROUND, stage("round", 1), speaks("alpha", "round", 1));
  assert.deepEqual(shape(run), [PEOPLE, ["alpha"]]);
});

test("where the table goes on by itself, once around it is a round", () => {
  const steps = ["beta", "gamma", "alpha", "beta"].map((who, step) =>
    ends(who, "continue", "completed", step),
  );
  assert.deepEqual(shape(heardOf(...steps)), [["beta", "gamma", "alpha"], ["beta"]]);
});

test("the one who speaks has the floor, and the next seat follows", () => {
  const run = heardOf(...FIRST_ROUND.slice(0, 2), speaks("beta", "round"));
  assert.deepEqual(findSpeakerStatus(run, PEOPLE, 6), {
    speaker: "beta",
    nextSpeaker: "gamma",
    finishedTurns: 1,
    totalTurns: 6,
  });
});

test("after the last seat it is the first one's turn, as long as there are turns left", () => {
  const last = heardOf(...FIRST_ROUND.slice(0, 3), speaks("gamma", "round"));
  assert.equal(findSpeakerStatus(last, PEOPLE, 6)?.nextSpeaker, "alpha");
  assert.equal(findSpeakerStatus(last, PEOPLE, 3)?.nextSpeaker, null);
  assert.equal(findSpeakerStatus(last, PEOPLE, null)?.nextSpeaker, null);
});

test("who begins is known in a round, and not where the table goes on", () => {
  const begun = heardOf();
  const mode = (name: string) => withServerRun(begun, { ...live("run_1"), mode: name });
  assert.equal(findSpeakerStatus(mode("consensus"), PEOPLE, 6)?.nextSpeaker, "alpha");
  assert.equal(findSpeakerStatus(mode("continue"), PEOPLE, 6)?.nextSpeaker, null);
});

test("when it is over, nobody has the floor", () => {
  assert.equal(findSpeakerStatus(heardOf(...FIRST_ROUND, ended()), PEOPLE, 6), null);
});
