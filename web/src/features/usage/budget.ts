/** Weekly budget as shares of a bar. */

import type { Budget } from "../../api/types.ts";

interface BudgetShares {
  readonly spent: number;
  readonly reserved: number;
  readonly isOver: boolean;
}

/** Shares between 0 and 1; overspending fills the bar. */
export function budgetShares({
  weekly_budget_usd: budget,
  spent_usd: spent,
  reserved_usd: reserved,
}: Budget): BudgetShares {
  if (budget === null) return { spent: 0, reserved: 0, isOver: false };
  const whole = Math.max(budget, spent + reserved, Number.MIN_VALUE);
  return { spent: spent / whole, reserved: reserved / whole, isOver: spent + reserved >= budget };
}

/** A week can be reset once. */
export function canReset({ weekly_budget_usd, reset_at }: Budget): boolean {
  return weekly_budget_usd !== null && reset_at === null;
}
