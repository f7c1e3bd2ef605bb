import assert from "node:assert/strict";
import { test } from "node:test";
import { canReset, budgetShares } from "../src/features/usage/budget.ts";
import {
  totalAmount,
  sortByAmount,
  fillMissingDays,
  firstDay,
  formatMoney,
  rowLabel,
  amountParts,
  formatPrice,
  spendingNotes,
} from "../src/state/spending.ts";
import type { Budget, SpendingItem, UsageReport } from "../src/api/types.ts";

const spent = (key: string | null, more: Partial<SpendingItem> = {}): SpendingItem => ({
  key,
  title: null,
  calls: 1,
  input: 10,
  output: 5,
  reasoning: 0,
  cached: 0,
  cache_written: 0,
  estimated: false,
  cost_usd: 0.01,
  unpriced_calls: 0,
  ...more,
});
const report = (rows: readonly SpendingItem[]): UsageReport => ({
  since: "2026-02-27",
  until: "2026-03-02",
  by: "day",
  total: spent(null),
  rows,
});
const WEEK: Budget = {
  weekly_budget_usd: 10,
  week_starts: 0,
  week_ends: 604800,
  spent_usd: 2,
  reserved_usd: 1,
  remaining_usd: 7,
  reset_at: null,
};

test("days without spending are filled in", () => {
  const days = fillMissingDays(report([spent("2026-03-01"), spent("2026-02-27")]));
  assert.deepEqual(
    days.map((one) => [one.key, one.calls]),
    [
      ["2026-02-27", 1],
      ["2026-02-28", 0],
      ["2026-03-01", 1],
      ["2026-03-02", 0],
    ],
  );
});

test("a period of seven days ends today", () => {
  assert.equal(firstDay(7, Date.UTC(2026, 2, 3, 23, 59)), "2026-02-25");
});

test("a token amount has two parts, and a cost has one", () => {
  assert.deepEqual(amountParts(spent("a"), "tokens"), [10, 5]);
  assert.deepEqual(amountParts(spent("a"), "cost"), [0.01]);
  assert.equal(totalAmount(spent("a"), "tokens"), 15);
});

test("rows are sorted by the selected amount, the largest first", () => {
  const rows = [spent("cheap", { cost_usd: 0, output: 900 }), spent("dear", { cost_usd: 2 })];
  assert.deepEqual(
    sortByAmount(rows, "cost").map((one) => one.key),
    ["dear", "cheap"],
  );
  assert.deepEqual(
    sortByAmount(rows, "tokens").map((one) => one.key),
    ["cheap", "dear"],
  );
});

test("rows have labels", () => {
  assert.equal(rowLabel(spent("2026-03-01"), "day"), "Mar 1");
  assert.equal(rowLabel(spent("agreement"), "purpose"), "Agreement checks");
  assert.equal(rowLabel(spent("dis_1", { title: "Tables" }), "discussion"), "Tables");
  assert.equal(rowLabel(spent("dis_1"), "discussion"), "A deleted discussion");
  assert.equal(rowLabel(spent(null), "discussion"), "Outside discussions");
  assert.equal(rowLabel(spent("openai/gpt"), "model"), "openai/gpt");
});

test("small amounts have more digits", () => {
  assert.equal(formatMoney(0), "$0");
  assert.equal(formatMoney(12.5), "$12.50");
  assert.equal(formatMoney(1234.567), "$1,234.57");
  assert.equal(formatMoney(0.25), "$0.25");
  assert.equal(formatMoney(0.0123), "$0.012");
  assert.equal(formatMoney(0.000123), "$0.00012");
  assert.equal(formatMoney(1e-9), "less than $0.000001");
});

test("unknown prices are marked", () => {
  assert.equal(formatPrice(spent("a")), "$0.01");
  assert.equal(formatPrice(spent("a", { calls: 3, unpriced_calls: 2 })), "$0.01 +");
  assert.equal(formatPrice(spent("a", { cost_usd: 0, unpriced_calls: 1 })), "unknown");
  assert.deepEqual(spendingNotes(spent("a")), []);
  const [unpriced, estimated] = spendingNotes(spent("a", { unpriced_calls: 1, estimated: true }));
  assert.match(unpriced ?? "", /1 call has no known price/);
  assert.match(estimated ?? "", /estimated/);
});

test("a budget has a spent and a reserved share", () => {
  assert.deepEqual(budgetShares(WEEK), { spent: 0.2, reserved: 0.1, isOver: false });
  assert.deepEqual(budgetShares({ ...WEEK, spent_usd: 15, reserved_usd: 5 }), {
    spent: 0.75,
    reserved: 0.25,
    isOver: true,
  });
  assert.equal(budgetShares({ ...WEEK, weekly_budget_usd: 0, spent_usd: 0, reserved_usd: 0 }).isOver, true);
  assert.equal(budgetShares({ ...WEEK, weekly_budget_usd: null }).isOver, false);
});

test("a budget can be reset once a week", () => {
  assert.equal(canReset(WEEK), true);
  assert.equal(canReset({ ...WEEK, reset_at: 5 }), false);
  assert.equal(canReset({ ...WEEK, weekly_budget_usd: null }), false);
});
