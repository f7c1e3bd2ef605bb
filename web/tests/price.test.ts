import assert from "node:assert/strict";
import { test } from "node:test";
import { formatForecast, explainExcess } from "../src/features/composer/price.ts";
import type { Estimate } from "../src/api/types.ts";

function estimate(
  cost_usd: number,
  unpriced_models: readonly string[] = [],
  remaining_usd: number | null = null,
): Estimate {
  return { forecast: { lines: [], calls: 3, input: 0, output: 0, cost_usd, unpriced_models }, remaining_usd };
}

test("a forecast has the cost and the number of calls", () => {
  assert.equal(formatForecast(estimate(0).forecast), "Costs nothing, 3 calls");
  assert.equal(formatForecast(estimate(0.5).forecast), "About $0.50, 3 calls");
});

test("unknown prices are not counted as free", () => {
  assert.equal(formatForecast(estimate(0, ["a/b"]).forecast), "3 calls, price unknown");
  assert.equal(formatForecast(estimate(1, ["a/b", "a/c"]).forecast), "At least $1.00, 3 calls");
});

test("a cost above the budget or the spending limit is explained", () => {
  assert.equal(explainExcess(estimate(1, [], 5), null), "");
  assert.equal(
    explainExcess(estimate(1, [], 0.5), null),
    "That is more than the $0.50 that is left of your budget this week.",
  );
  assert.equal(explainExcess(estimate(1, [], 0), 5), "That is more than what is left of your budget this week.");
  assert.equal(explainExcess(estimate(1), 0.1), "That is more than the $0.10 that you set as the limit.");
});
