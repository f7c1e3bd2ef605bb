import assert from "node:assert/strict";
import { test } from "node:test";
import { formatCount, formatUsd, formatSeconds } from "../src/ui/format.ts";
import { runSpec, emptyRun } from "../src/state/run.ts";
import { participantColour, participantView, sortByParticipant } from "../src/state/participants.ts";
import { emptyTurn } from "../src/state/turn.ts";
import type { Discussion } from "../src/api/types.ts";
import { DISCUSSION } from "./events.ts";

const inMode = (mode: Discussion["mode"]) => ({ ...DISCUSSION, mode });
const staged = (stage: string) => ({
  ...emptyRun("run_1"),
  turns: [emptyTurn("run_1", { participant: "alpha", stage, round: 0 }, 0)],
});

test("the stages of a run decide its kind, even if the mode of the discussion changed", () => {
  for (const [stage, kind] of [
    ["initial", "debate"],
    ["round", "rounds"],
    ["turn", "lesson"],
    ["cross_talk", "advice"],
  ] as const)
    assert.equal(runSpec(staged(stage), inMode("parallel")).page_layout, kind);
  assert.equal(runSpec(staged("answer"), inMode("debate")).page_layout, "answers");
});

test("without turns, the mode of the run decides, then the mode of the discussion", () => {
  assert.equal(runSpec(emptyRun("run_1"), inMode("consensus")).page_layout, "rounds");
  assert.equal(runSpec({ ...emptyRun("run_1"), mode: "directed" }, inMode("parallel")).page_layout, "lesson");
  assert.equal(runSpec(emptyRun("run_1"), inMode("parallel")).page_layout, "answers");
});

test("answers in the advisors mode are advice", () => {
  assert.equal(runSpec(staged("answer"), inMode("advisors")).page_layout, "advice");
});

test("a participant has a name and a colour, even after it was removed", () => {
  const beta = participantView(DISCUSSION, "beta", "Once Beta");
  assert.deepEqual([beta.name, beta.colour, beta.model], ["Beta", participantColour(1), "scripted/b"]);
  const removed = participantView(DISCUSSION, "gone", "Gone");
  assert.deepEqual([removed.name, removed.participant], ["Gone", null]);
  assert.equal(removed.colour, participantView(null, "gone").colour);
  assert.equal(participantView(null, "gone").name, "gone");
});

test("a chosen colour is used, and default colours repeat", () => {
  const [first] = DISCUSSION.participants;
  assert.ok(first);
  const chosen = { ...DISCUSSION, participants: [{ ...first, colour: "#123456" }] };
  assert.equal(participantView(chosen, "alpha").colour, "#123456");
  assert.equal(participantColour(8), participantColour(0));
});

test("answers are in the order of the participants, with removed participants last", () => {
  const answers = ["gone", "beta", "alpha"].map((participant) => ({ participant }));
  assert.deepEqual(
    sortByParticipant(answers, DISCUSSION).map((one) => one.participant),
    ["alpha", "beta", "gone"],
  );
});

test("small prices are formatted in cents", () => {
  assert.deepEqual([null, undefined, 0, 0.00042, 0.0099, 0.01, 1234.5].map(formatUsd), [
    "price unknown",
    "price unknown",
    "free",
    "0.042¢",
    "0.99¢",
    "$0.01",
    "$1,234.50",
  ]);
});

test("counts are abbreviated, and short times have a decimal", () => {
  assert.deepEqual([0, 999, 1234, 2_500_000].map(formatCount), ["0", "999", "1.2K", "2.5M"]);
  assert.deepEqual([null, 0.04, 9.94, 12.6].map(formatSeconds), ["", "0.0 s", "9.9 s", "13 s"]);
});
