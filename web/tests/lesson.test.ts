import assert from "node:assert/strict";
import { test } from "node:test";
import { describeAction, replayActions, describeBoard } from "../src/features/modes/lesson/drawn-elements.ts";
import { lessonMoments, momentDurationMs, splitTurn } from "../src/features/modes/lesson/moments.ts";
import { emptyRun, applyRunEvent, type Run } from "../src/state/run.ts";
import type { ActionTaken } from "../src/api/types.ts";
import { turnStarted, numberEvents, textRetracted, textDelta, runStarted, turnEnded } from "./events.ts";

type Action = ActionTaken["action"];
const drawAction = (who: string, id: string, content: string) => ({
  type: "action",
  participant: who,
  stage: "answer",
  round: 0,
  id: `act-${id}`,
  action: { name: "wb_draw_text", elementId: id, content },
});

function lesson(id: string, ...events: readonly object[]): Run {
  return numberEvents(id, runStarted, ...events).reduce(applyRunEvent, emptyRun(id));
}

const LESSON_EVENTS = [
  turnStarted("alpha"),
  drawAction("alpha", "title", "Odd numbers"),
  textDelta("alpha", "One plus "),
  textDelta("alpha", "three."),
  drawAction("alpha", "law", "n²"),
  textDelta("alpha", " Luck?"),
  turnEnded("alpha", "One plus three. Luck?"),
];

test("a turn is split at its actions", () => {
  const run = lesson("run_1", ...LESSON_EVENTS);
  const [turn] = run.turns;
  assert.ok(turn);
  assert.deepEqual(
    splitTurn(turn, run.actions).map(({ text, action }) => text || action?.id),
    ["act-title", "One plus three.", "act-law", "Luck?"],
  );
});

test("a later version has only text, because its actions are unknown", () => {
  const run = lesson("run_1", ...LESSON_EVENTS);
  const later = run.turns.map((turn) => ({ ...turn, text: "Two.", version: 2, versions: 2 }));
  assert.deepEqual(
    later.flatMap((turn) => splitTurn(turn, run.actions)).map(({ text, action }) => [text, action]),
    [["Two.", null]],
  );
});

test("a growing part keeps its id", () => {
  const ids = (count: number) => {
    const run = lesson("run_1", ...LESSON_EVENTS.slice(0, count));
    return run.turns.flatMap((turn) => splitTurn(turn, run.actions).map(({ id }) => id));
  };
  const whole = ids(LESSON_EVENTS.length);
  for (let count = 1; count < LESSON_EVENTS.length; count++) {
    assert.deepEqual(ids(count), whole.slice(0, ids(count).length));
  }
});

test("moments of all runs are in order, each with its whiteboard event", () => {
  const runs = [
    lesson("run_1", ...LESSON_EVENTS),
    lesson("run_2", turnStarted("beta"), textDelta("beta", "And now?"), turnEnded("beta", "And now?")),
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

test("a run without events has no whiteboard event", () => {
  const run = { ...lesson("run_1", ...LESSON_EVENTS), actions: [], lastSeq: 0 };
  assert.deepEqual(
    lessonMoments([run]).map(({ seq, text }) => [seq, text]),
    [[null, "One plus three. Luck?"]],
  );
});

test("moments of retracted and failed turns are dropped", () => {
  const retracted = lesson("run_1", ...LESSON_EVENTS.slice(0, 4), textRetracted("alpha"), textDelta("alpha", "Two."));
  assert.deepEqual(
    lessonMoments([retracted]).map(({ text }) => text),
    ["Two."],
  );
  const failed = lesson("run_1", ...LESSON_EVENTS.slice(0, 4), turnEnded("alpha", "One plus", "failed"));
  assert.deepEqual(lessonMoments([failed]), []);
});

test("longer text has a longer duration, up to a maximum", () => {
  const [first] = lessonMoments([lesson("run_1", turnStarted("alpha"), textDelta("alpha", "Hm."))]);
  assert.ok(first);
  assert.ok(momentDurationMs(first) < momentDurationMs({ ...first, text: "word ".repeat(20) }));
  assert.ok(momentDurationMs({ ...first, text: "word ".repeat(2000) }) <= 6000);
});

test("the whiteboard is described in words after all actions", () => {
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

test("every action has a description, even an unknown one", () => {
  const words = describeAction({ name: "wb_draw_text", content: "a ".repeat(200) } as Action);
  assert.ok(words.length < 60, words);
  assert.equal(describeAction({ name: "wb_sing" } as unknown as Action), "does something");
});
