import assert from "node:assert/strict";
import { test } from "node:test";
import { floorOf, roundsOf } from "../src/features/modes/rounds/rounds.ts";
import { standing, type Run } from "../src/state/run.ts";
import { ends, heardOf, PEOPLE, speaks, stage } from "./debates.ts";
import { ended, live } from "./events.ts";

const shape = (run: Run) =>
  roundsOf(run, PEOPLE.length).map((round) => round.turns.map((turn) => turn.participant));
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
  assert.deepEqual(floorOf(run, PEOPLE, 6), { speaking: "beta", next: "gamma", over: 1, of: 6 });
});

test("after the last seat it is the first one's turn, as long as there are turns left", () => {
  const last = heardOf(...FIRST_ROUND.slice(0, 3), speaks("gamma", "round"));
  assert.equal(floorOf(last, PEOPLE, 6)?.next, "alpha");
  assert.equal(floorOf(last, PEOPLE, 3)?.next, null);
  assert.equal(floorOf(last, PEOPLE, null)?.next, null);
});

test("who begins is known in a round, and not where the table goes on", () => {
  const begun = heardOf();
  const mode = (name: string) => standing(begun, { ...live("run_1"), mode: name });
  assert.equal(floorOf(mode("consensus"), PEOPLE, 6)?.next, "alpha");
  assert.equal(floorOf(mode("continue"), PEOPLE, 6)?.next, null);
});

test("when it is over, nobody has the floor", () => {
  assert.equal(floorOf(heardOf(...FIRST_ROUND, ended()), PEOPLE, 6), null);
});
