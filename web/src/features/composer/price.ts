/** Price estimates as text: known and unknown costs, and whether they exceed the limit. */

import { formatUsd } from "../../ui/format.ts";
import type { Estimate, Forecast } from "../../api/types.ts";

/** Short estimate. An unknown price never counts as zero. */
export function formatForecast({ cost, calls, unknown }: Forecast): string {
  const asked = calls === 1 ? "1 call" : `${calls} calls`;
  if (unknown.length === 0) return `${cost === 0 ? "Costs nothing" : `About ${formatUsd(cost)}`}, ${asked}`;
  return cost === 0 ? `${asked}, price unknown` : `At least ${formatUsd(cost)}, ${asked}`;
}

/** Explain why the estimate exceeds the limit; empty if it does not. */
export function explainExcess({ forecast: { cost }, left }: Estimate, maxCostUsd: number | null): string {
  if (left !== null && cost > left) return describeExcess("is left of your budget this week", left);
  if (maxCostUsd !== null && cost > maxCostUsd) return describeExcess("you set as the limit", maxCostUsd);
  return "";
}

function describeExcess(what: string, amount: number): string {
  return `That is more than ${amount === 0 ? "what" : `the ${formatUsd(amount)} that`} ${what}.`;
}
