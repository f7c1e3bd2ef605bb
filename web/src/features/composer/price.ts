/** Price estimates as text: known and unknown costs, and whether they exceed the limit. */

import { formatUsd } from "../../ui/format.ts";
import type { Estimate, Forecast } from "../../api/types.ts";

/** Short estimate. An unknown price never counts as zero. */
export function formatForecast({ cost_usd, calls, unpriced_models }: Forecast): string {
  const asked = calls === 1 ? "1 call" : `${calls} calls`;
  if (unpriced_models.length === 0)
    return `${cost_usd === 0 ? "Costs nothing" : `About ${formatUsd(cost_usd)}`}, ${asked}`;
  return cost_usd === 0 ? `${asked}, price unknown` : `At least ${formatUsd(cost_usd)}, ${asked}`;
}

/** Explain why the estimate exceeds the limit; empty if it does not. */
export function explainExcess({ forecast: { cost_usd }, remaining_usd }: Estimate, maxCostUsd: number | null): string {
  if (remaining_usd !== null && cost_usd > remaining_usd)
    return describeExcess("is left of your budget this week", remaining_usd);
  if (maxCostUsd !== null && cost_usd > maxCostUsd) return describeExcess("you set as the limit", maxCostUsd);
  return "";
}

function describeExcess(what: string, amount: number): string {
  return `That is more than ${amount === 0 ? "what" : `the ${formatUsd(amount)} that`} ${what}.`;
}
