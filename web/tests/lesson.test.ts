import assert from "node:assert/strict";
import { test } from "node:test";
import { describeAction, replayActions, describeBoard } from "../src/features/modes/lesson/drawn-elements.ts";
import { lessonMoments, momentDurationMs, splitTurn } from "../src/features/modes/lesson/moments.ts";
import { emptyRun, applyRunEvent, type Run } from "../src/state/run.ts";
import type { ActionTaken } from "../src/api/types.ts";
import { begins, numbered, retracts, says, started, stops } from "./events.ts";

type Action = ActionTaken["action"];
const draw = (who: string, id: string, content: string) => ({
  type: "action",
  participant: who,
  stage: "answer",
  round: 0,
  id: `act-${id}`,
  action: { name: "wb_draw_text", elementId: id, content },
});

function lesson(id: string, ...events: readonly object[]): Run {
  return numbered(id, started, ...events).reduce(applyRunEvent, emptyRun(id));
}

const told1 = [
  begins("alpha"),
  draw("alpha", "title", "Odd numbers"),
  says("alpha", "One plus "),
  says("alpha", "three."),
  draw("alpha", "law", "n²"),
  says("alpha", " Luck?"),
  stops("alpha", "One plus three. Luck?"),
];

test("a turn is cut where something was done", () => {
  const run = lesson("run_1", ...told1);
  const [turn] = run.turns;
  assert.ok(turn);
  assert.deepEqual(
    splitTurn(turn, run.actions).map(({ text, action }) => text || action?.id),
    ["act-title", "One plus three.", "act-law", "Luck?"],
  );
});

test("of a later version only the words are told, since what it did is not known", () => {
  const run = lesson("run_1", ...told1);
  const later = run.turns.map((turn) => ({ ...turn, text: "Two.", version: 2, versions: 2 }));
  assert.deepEqual(
    later.flatMap((turn) => splitTurn(turn, run.actions)).map(({ text, action }) => [text, action]),
    [["Two.", null]],
  );
});

test("a piece that grows keeps its name, so that a mark stays where it is", () => {
  const ids = (count: number) => {
    const run = lesson("run_1", ...told1.slice(0, count));
    return run.turns.flatMap((turn) => splitTurn(turn, run.actions).map(({ id }) => id));
  };
  const whole = ids(told1.length);
  for (let count = 1; count < told1.length; count++) {
    assert.deepEqual(ids(count), whole.slice(0, ids(count).length));
  }
});

test("the moments of all runs are in their order, each with the board of its time", () => {
  const runs = [
    lesson("run_1", ...told1),
    lesson("run_2", begins("beta"), says("beta", "And now?"), stops("beta", "And now?")),
  ];
  assert.deepEqual(
    lessonMoments(runs).map(({ run, seq, text }) => [run, seq, text]),
    [
      ["run_1", 3, ""],
      ["run_1", 3, "One plus three."],
      ["run_1", 6, ""],
      ["run_1", 6, "Luck?"],
      ["run_2", 0, "And now?"],
    ],
  );
});

test("of a run of which nothing was heard the board is shown as it was left", () => {
  const run = { ...lesson("run_1", ...told1), actions: [], lastSeq: 0 };
  assert.deepEqual(
    lessonMoments([run]).map(({ seq, text }) => [seq, text]),
    [[null, "One plus three. Luck?"]],
  );
});

test("what a turn did before it began anew, or failed, is void", () => {
  const anew = lesson("run_1", ...told1.slice(0, 4), retracts("alpha"), says("alpha", "Two."));
  assert.deepEqual(
    lessonMoments([anew]).map(({ text }) => text),
    ["Two."],
  );
  const failed = lesson("run_1", ...told1.slice(0, 4), stops("alpha", "One plus", "failed"));
  assert.deepEqual(lessonMoments([failed]), []);
});

test("longer speech is looked at longer, within bounds", () => {
  const [first] = lessonMoments([lesson("run_1", begins("alpha"), says("alpha", "Hm."))]);
  assert.ok(first);
  assert.ok(momentDurationMs(first) < momentDurationMs({ ...first, text: "word ".repeat(20) }));
  assert.ok(momentDurationMs({ ...first, text: "word ".repeat(2000) }) <= 6000);
});

test("the board is told in words, as it is after all that was done", () => {
  const acts = (...all: object[]) => replayActions(all.map((action) => ({ action: action as Action })));
  const title = { name: "wb_draw_text", elementId: "title", content: "Odd\n numbers" };
  const circle = { name: "wb_draw_shape", elementId: "shape-1", shape: "circle" };
  assert.equal(describeBoard(acts({ name: "wb_open" })), "The whiteboard is empty.");
  assert.equal(describeBoard(acts(title, circle)), "The whiteboard shows text “Odd numbers”; a circle.");
  assert.equal(
    describeBoard(acts(title, circle, { name: "wb_delete", elementId: "title" })),
    "The whiteboard shows a circle.",
  );
  assert.equal(describeBoard(acts(title, { name: "wb_clear" })), "The whiteboard is empty.");
  assert.equal(acts(title, { name: "wb_close" }).isOpen, false);
  assert.equal(acts(title, { name: "wb_close" }).elements.size, 1);
});

test("every action has words, also one that a newer server may know", () => {
  const words = describeAction({ name: "wb_draw_text", content: "a ".repeat(200) } as Action);
  assert.ok(words.length < 60, words);
  assert.equal(describeAction({ name: "wb_sing" } as unknown as Action), "does something");
});
