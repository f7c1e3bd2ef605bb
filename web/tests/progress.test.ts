import assert from "node:assert/strict";
import { test } from "node:test";
import {
  initialProgress,
  bestRound,
  applyImprovementEvent,
  assertionLines,
  countPasses,
  type EvaluationProgress,
  type ImprovementEvent,
} from "../src/features/evaluations/progress.ts";
import type { ImprovementRound, Evaluation } from "../src/api/types.ts";

const verdicts = (...passed: boolean[]) => passed.map((one) => ({ passed: one, reason: "" }));
const round = (is_better: boolean, ...passed: boolean[]) =>
  ({
    description: "d",
    change: "c",
    answer: "a",
    verdicts: verdicts(...passed),
    is_better,
  }) as unknown as ImprovementRound;
const evaluation = {
  id: "evaluation_1",
  assertions: ["One.", "Two."],
  verdicts: verdicts(true, false),
  rounds: [],
  applied_improvement: null,
} as unknown as Evaluation;

const progressAfter = (...events: readonly object[]): EvaluationProgress =>
  (events as readonly ImprovementEvent[]).reduce(applyImprovementEvent, initialProgress(evaluation));
const first = [
  { type: "improving", evaluation },
  { type: "rewritten", round: 1, change: "It asks for a source.", description: "d" },
  { type: "answered", round: 1, answer: "Says Vitruvius." },
];

test("a round shows its progress: rewritten, answered, judged", () => {
  assert.deepEqual(progressAfter(...first.slice(0, 1)).attempt, { number: 1, change: "", answer: "" });
  assert.equal(progressAfter(...first.slice(0, 2)).attempt?.change, "It asks for a source.");
  assert.deepEqual(progressAfter(...first).attempt, {
    number: 1,
    change: "It asks for a source.",
    answer: "Says Vitruvius.",
  });
  const judged = progressAfter(...first, {
    type: "round_ended",
    number: 1,
    round: round(false, true, false),
  });
  assert.equal(judged.evaluation.rounds.length, 1);
  assert.equal(judged.attempt?.number, 2);
});

test("at the end, there is no attempt, and the outcome is known", () => {
  const done = { ...evaluation, rounds: [round(true, true, true)] };
  const progress = progressAfter(...first, {
    type: "done",
    outcome: "all_pass",
    evaluation: done,
    message: "",
  });
  assert.deepEqual(progress, { evaluation: done, attempt: null, outcome: "all_pass", message: "" });
});

test("the best round is the last one that was better, or null", () => {
  const [worse, better, best] = [round(false, true, false), round(true, true, false), round(true, true, true)];
  assert.equal(bestRound({ ...evaluation, rounds: [worse, better, worse, best, worse] }), best);
  assert.equal(bestRound({ ...evaluation, rounds: [worse] }), null);
  assert.equal(countPasses(best.verdicts), 2);
});

test("each non-empty line is one assertion", () => {
  assert.deepEqual(assertionLines(" It is short. \n\n\tIt is true.\n"), ["It is short.", "It is true."]);
});
