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

/** Fake clock and frames, with a log of all paints. */
class FakeFrames {
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

  addCard(who: string, cost: number) {
    return this.painting.addPainter(() => {
      this.log.push({ who, frame: this.frames, time: this.time });
      this.time += cost;
      return true;
    });
  }

  /** Run some frames, whether or not one was requested. */
  run(frames: number): void {
    for (let count = 0; count < frames; count++) {
      this.frames += 1;
      this.time = Math.max(this.time, this.frames * FRAME_MS);
      const next = this.#next;
      this.#next = null;
      next?.();
    }
  }

  get isIdle(): boolean {
    return this.#next === null;
  }
}

test("a card is painted at most once every 66 ms, and no frame is requested without need", () => {
  const fake = new FakeFrames();
  const card = fake.addCard("a", 1);
  for (let frame = 0; frame < 60; frame++) {
    card.requestPaint(false);
    fake.run(1);
  }
  const times = fake.log.map(({ time }) => time);
  assert.ok(times.length >= 10);
  times.slice(1).forEach((time, index) => assert.ok(time - (times[index] ?? 0) >= MIN_INTERVAL_MS));
  fake.run(10);
  assert.ok(fake.isIdle);
});

test("cards share the budget of a frame fairly", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 12 }), (costs) => {
      const fake = new FakeFrames();
      const cards = costs.map((cost, index) => fake.addCard(String(index), cost));
      for (let frame = 0; frame < 100; frame++) {
        for (const card of cards) card.requestPaint(false);
        fake.run(1);
      }
      for (const frame of new Set(fake.log.map((entry) => entry.frame))) {
        const spent = fake.log.filter((entry) => entry.frame === frame).map(({ who }) => costs[Number(who)] ?? 0);
        const before = spent.slice(0, -1).reduce((sum, cost) => sum + cost, 0);
        assert.ok(before < FRAME_BUDGET_MS, `${before} ms were over when another card was painted`);
      }
      const turns = cards.map((_, index) => fake.log.filter(({ who }) => who === String(index)).length);
      assert.ok(Math.max(...turns) - Math.min(...turns) <= 1, `turns: ${turns}`);
    }),
  );
});

test("a growing card off screen is painted when it becomes visible", () => {
  const fake = new FakeFrames();
  const card = fake.addCard("a", 1);
  card.setVisible(false);
  card.requestPaint(false);
  fake.run(20);
  assert.equal(fake.log.length, 0);
  card.setVisible(true);
  fake.run(1);
  assert.equal(fake.log.length, 1);
});

test("a text whose end is hidden is painted once a second, and at once when its end becomes visible", () => {
  const fake = new FakeFrames();
  const card = fake.addCard("a", 1);
  card.setEndVisible(false);
  for (let frame = 0; frame < 150; frame++) {
    card.requestPaint(false);
    fake.run(1);
  }
  const times = fake.log.map(({ time }) => time);
  assert.equal(times.length, 3);
  times.slice(1).forEach((time, index) => assert.ok(time - (times[index] ?? 0) >= END_HIDDEN_INTERVAL_MS));
  card.setEndVisible(true);
  fake.run(1);
  assert.equal(fake.log.length, 4);
});

/** A text that needs many steps of 1 ms. `frames` has the frame of each step. */
function longText(fake: FakeFrames, steps: number) {
  const frames: number[] = [];
  const painter = fake.painting.addPainter((isTimeUp) => {
    do {
      frames.push(fake.frames);
      fake.time += 1;
    } while (frames.length < steps && !isTimeUp());
    return frames.length === steps;
  });
  return { painter, frames };
}

test("a long text is painted over several frames and does not block other cards", () => {
  const fake = new FakeFrames();
  const long = longText(fake, FRAME_BUDGET_MS * 2);
  const card = fake.addCard("card", 1);
  long.painter.requestPaint(true);
  card.requestPaint(true);
  fake.run(3);
  assert.deepEqual(
    long.frames,
    Array.from({ length: FRAME_BUDGET_MS * 2 }, (_, step) =>
      step < FRAME_BUDGET_MS ? 1 : step < FRAME_BUDGET_MS * 2 - 1 ? 2 : 3,
    ),
  );
  assert.equal(fake.log[0]?.frame, 2);
  assert.ok(fake.isIdle);
});

test("a text whose end is hidden has a smaller budget until it ends", () => {
  const fake = new FakeFrames();
  const { painter, frames } = longText(fake, 100);
  painter.setEndVisible(false);
  painter.requestPaint(false);
  fake.run(1);
  assert.equal(frames.length, END_HIDDEN_BUDGET_MS);
  painter.requestPaint(true);
  fake.run(1);
  assert.equal(frames.length, END_HIDDEN_BUDGET_MS + FRAME_BUDGET_MS);
});

test("a key press delays painting by one frame, but a held key does not block it", () => {
  const fake = new FakeFrames();
  const card = fake.addCard("a", 1);
  fake.typed = true;
  card.requestPaint(false);
  fake.run(1);
  assert.equal(fake.log.length, 0);
  for (let frame = 0; frame < 60; frame++) {
    card.requestPaint(false);
    fake.run(1);
  }
  assert.ok(fake.log.length >= 8, `painted ${fake.log.length} times`);
});

test("a finished card off screen is painted after the visible ones", () => {
  const fake = new FakeFrames();
  const hidden = fake.addCard("hidden", FRAME_BUDGET_MS);
  const shown = fake.addCard("shown", FRAME_BUDGET_MS);
  hidden.setVisible(false);
  hidden.requestPaint(true);
  shown.requestPaint(true);
  fake.run(2);
  assert.deepEqual(
    fake.log.map(({ who }) => who),
    ["shown", "hidden"],
  );
});

test("a card that fails does not block other cards", () => {
  const fake = new FakeFrames();
  const broken = fake.painting.addPainter(() => {
    throw new Error("broken");
  });
  const card = fake.addCard("a", 1);
  broken.requestPaint(false);
  card.requestPaint(false);
  assert.throws(() => fake.run(1), /broken/);
  fake.run(1);
  assert.equal(fake.log.length, 1);
});

test("a disposed card is not painted", () => {
  const fake = new FakeFrames();
  const card = fake.addCard("a", 1);
  card.requestPaint(true);
  card.dispose();
  fake.run(3);
  assert.equal(fake.log.length, 0);
});
