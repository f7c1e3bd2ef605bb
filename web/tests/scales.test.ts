import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { barBands, labelStride, axisTicks } from "../src/features/usage/scales.ts";

test("ticks are round numbers", () => {
  assert.deepEqual(axisTicks(0.037), [0, 0.01, 0.02, 0.03, 0.04]);
  assert.deepEqual(axisTicks(9), [0, 2.5, 5, 7.5, 10]);
  assert.deepEqual(axisTicks(4), [0, 1, 2, 3, 4]);
  assert.deepEqual(axisTicks(2, 4, 1), [0, 1, 2]);
  assert.deepEqual(axisTicks(0), [0]);
});

test("an axis covers any value with few ticks", () => {
  fc.assert(
    fc.property(fc.double({ min: 1e-9, max: 1e12, noNaN: true }), (greatest) => {
      const ticks = axisTicks(greatest);
      assert.ok((ticks.at(-1) ?? 0) >= greatest * (1 - 1e-6));
      assert.ok(ticks.length >= 2 && ticks.length <= 6);
      assert.ok(ticks.every((tick, place) => !place || tick > (ticks[place - 1] ?? tick)));
    }),
  );
});

test("labels are skipped if there is no room", () => {
  assert.equal(labelStride(7, 700, 60), 1);
  assert.equal(labelStride(30, 700, 60), 3);
  assert.equal(labelStride(90, 300, 60), 18);
  assert.equal(labelStride(0, 300, 60), 1);
});

test("bars fit into their bands and have a maximum width", () => {
  assert.deepEqual(barBands(1, 500), { step: 500, width: 40 });
  assert.equal(barBands(0, 500).step, 500);
  const many = barBands(90, 300);
  assert.ok(many.width >= 1 && many.width < many.step);
});
