import assert from "node:assert/strict";
import { test } from "node:test";
import { priceOf } from "../../src/start/price.ts";
import type { Estimate } from "../../src/wire.ts";

function estimate(cost: number, unknown: readonly string[] = [], left: number | null = null): Estimate {
  return { forecast: { lines: [], calls: 3, input: 0, output: 0, cost, unknown }, left };
}

test("a price is said with what it is for", () => {
  assert.deepEqual(priceOf(estimate(0), null), { words: "Costs nothing, 3 calls.", over: false });
  assert.equal(priceOf(estimate(0.5), null).words, "About $0.50, 3 calls.");
});

test("what is not known is said, and never counted as nothing", () => {
  assert.equal(priceOf(estimate(0, ["a/b"]), null).words, "3 calls; the price of a/b is not known.");
  assert.equal(
    priceOf(estimate(1, ["a/b", "a/c", "a/d"]), null).words,
    "At least $1.00. 3 calls; the price of a/b, a/c and 1 more is not known.",
  );
});

test("what is left of the budget is said, and what goes beyond it or the cap is marked", () => {
  assert.equal(
    priceOf(estimate(1, [], 5), null).words,
    "About $1.00, 3 calls. $5.00 is left of your budget.",
  );
  assert.deepEqual(priceOf(estimate(1, [], 0.5), null), {
    words: "About $1.00, 3 calls. That is more than the $0.50 that is left of your budget.",
    over: true,
  });
  assert.equal(priceOf(estimate(1), 0.1).over, true);
});
