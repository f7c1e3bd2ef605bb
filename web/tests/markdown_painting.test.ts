import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  END_HIDDEN_INTERVAL_MS,
  END_HIDDEN_BUDGET_MS,
  MIN_INTERVAL_MS,
  FRAME_BUDGET_MS,
  PaintScheduler,
} from "../src/markdown/painter.ts";

const FRAME_MS = 16;

/** A clock that only moves when told to, and a log of who was painted when. */
class Stage {
  time = 0;
  frames = 0;
  log: { who: string; frame: number; time: number }[] = [];
  #next: (() => void) | null = null;
  typed = false;
  painting = new PaintScheduler({
    now: () => this.time,
    requestFrame: (then) => (this.#next = then),
    hasKeyPress: () => this.typed,
  });

  join(who: string, cost: number) {
    return this.painting.addPainter(() => {
      this.log.push({ who, frame: this.frames, time: this.time });
      this.time += cost;
      return true;
    });
  }

  /** Let frames come, each at its time, whether or not somebody waits for one. */
  run(frames: number): void {
    for (let count = 0; count < frames; count++) {
      this.frames += 1;
      this.time = Math.max(this.time, this.frames * FRAME_MS);
      const next = this.#next;
      this.#next = null;
      next?.();
    }
  }

  get asleep(): boolean {
    return this.#next === null;
  }
}

test("a card is painted at most once every 66 ms, and nobody is woken when nothing waits", () => {
  const stage = new Stage();
  const card = stage.join("a", 1);
  for (let frame = 0; frame < 60; frame++) {
    card.requestPaint(false);
    stage.run(1);
  }
  const times = stage.log.map(({ time }) => time);
  assert.ok(times.length >= 10);
  times.slice(1).forEach((time, index) => assert.ok(time - (times[index] ?? 0) >= MIN_INTERVAL_MS));
  stage.run(10);
  assert.ok(stage.asleep);
});

test("all cards share the budget of a frame, each in its turn", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 12 }), (costs) => {
      const stage = new Stage();
      const cards = costs.map((cost, index) => stage.join(String(index), cost));
      for (let frame = 0; frame < 100; frame++) {
        for (const card of cards) card.requestPaint(false);
        stage.run(1);
      }
      for (const frame of new Set(stage.log.map((entry) => entry.frame))) {
        const spent = stage.log
          .filter((entry) => entry.frame === frame)
          .map(({ who }) => costs[Number(who)] ?? 0);
        const before = spent.slice(0, -1).reduce((sum, cost) => sum + cost, 0);
        assert.ok(before < FRAME_BUDGET_MS, `${before} ms were over when another card was painted`);
      }
      const turns = cards.map((_, index) => stage.log.filter(({ who }) => who === String(index)).length);
      assert.ok(Math.max(...turns) - Math.min(...turns) <= 1, `turns: ${turns}`);
    }),
  );
});

test("what is off screen waits while it grows, and is painted when it is seen", () => {
  const stage = new Stage();
  const card = stage.join("a", 1);
  card.setVisible(false);
  card.requestPaint(false);
  stage.run(20);
  assert.equal(stage.log.length, 0);
  card.setVisible(true);
  stage.run(1);
  assert.equal(stage.log.length, 1);
});

test("a text whose end is not seen grows once a second, and at once when it is seen", () => {
  const stage = new Stage();
  const card = stage.join("a", 1);
  card.setEndVisible(false);
  for (let frame = 0; frame < 150; frame++) {
    card.requestPaint(false);
    stage.run(1);
  }
  const times = stage.log.map(({ time }) => time);
  assert.equal(times.length, 3);
  times.slice(1).forEach((time, index) => assert.ok(time - (times[index] ?? 0) >= END_HIDDEN_INTERVAL_MS));
  card.setEndVisible(true);
  stage.run(1);
  assert.equal(stage.log.length, 4);
});

/** A text that takes many steps of a millisecond; tells in which frame each was taken. */
function longText(stage: Stage, steps: number) {
  const frames: number[] = [];
  const painter = stage.painting.addPainter((isTimeUp) => {
    do {
      frames.push(stage.frames);
      stage.time += 1;
    } while (frames.length < steps && !isTimeUp());
    return frames.length === steps;
  });
  return { painter, frames };
}

test("a long text is painted over several frames, and no other is held up", () => {
  const stage = new Stage();
  const long = longText(stage, FRAME_BUDGET_MS * 2);
  const card = stage.join("card", 1);
  long.painter.requestPaint(true);
  card.requestPaint(true);
  stage.run(3);
  assert.deepEqual(
    long.frames,
    Array.from({ length: FRAME_BUDGET_MS * 2 }, (_, step) =>
      step < FRAME_BUDGET_MS ? 1 : step < FRAME_BUDGET_MS * 2 - 1 ? 2 : 3,
    ),
  );
  assert.equal(stage.log[0]?.frame, 2);
  assert.ok(stage.asleep);
});

test("what grows below of what is seen takes less of a frame, until it has ended", () => {
  const stage = new Stage();
  const { painter, frames } = longText(stage, 100);
  painter.setEndVisible(false);
  painter.requestPaint(false);
  stage.run(1);
  assert.equal(frames.length, END_HIDDEN_BUDGET_MS);
  painter.requestPaint(true);
  stage.run(1);
  assert.equal(frames.length, END_HIDDEN_BUDGET_MS + FRAME_BUDGET_MS);
});

test("nothing is painted in the frame of a key, but a key that is held down holds up nothing", () => {
  const stage = new Stage();
  const card = stage.join("a", 1);
  stage.typed = true;
  card.requestPaint(false);
  stage.run(1);
  assert.equal(stage.log.length, 0);
  for (let frame = 0; frame < 60; frame++) {
    card.requestPaint(false);
    stage.run(1);
  }
  assert.ok(stage.log.length >= 8, `painted ${stage.log.length} times`);
});

test("the end of what is off screen is painted, after what is on screen", () => {
  const stage = new Stage();
  const hidden = stage.join("hidden", FRAME_BUDGET_MS);
  const shown = stage.join("shown", FRAME_BUDGET_MS);
  hidden.setVisible(false);
  hidden.requestPaint(true);
  shown.requestPaint(true);
  stage.run(2);
  assert.deepEqual(
    stage.log.map(({ who }) => who),
    ["shown", "hidden"],
  );
});

test("a card that fails keeps nobody else from being painted", () => {
  const stage = new Stage();
  const broken = stage.painting.addPainter(() => {
    throw new Error("broken");
  });
  const card = stage.join("a", 1);
  broken.requestPaint(false);
  card.requestPaint(false);
  assert.throws(() => stage.run(1), /broken/);
  stage.run(1);
  assert.equal(stage.log.length, 1);
});

test("a card that left is painted no more", () => {
  const stage = new Stage();
  const card = stage.join("a", 1);
  card.requestPaint(true);
  card.dispose();
  stage.run(3);
  assert.equal(stage.log.length, 0);
});
