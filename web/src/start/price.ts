/** What a question would cost, in words: what is known, what is not, and what is left to spend. */

import { dollars } from "../state/figures.ts";
import type { Estimate } from "../wire.ts";

export interface Price {
  readonly words: string;
  /** It is more than may be spent. */
  readonly over: boolean;
}

export function priceOf({ forecast, left }: Estimate, cap: number | null): Price {
  const { cost, calls, unknown } = forecast;
  const asked = calls === 1 ? "1 call" : `${calls} calls`;
  const known =
    unknown.length === 0
      ? `${cost === 0 ? "Costs nothing" : `About ${dollars(cost)}`}, ${asked}.`
      : `${cost === 0 ? "" : `At least ${dollars(cost)}. `}${asked}; the price of ${listed(unknown)} is not known.`;
  if (left !== null && cost > left)
    return { words: `${known} ${more("is left of your budget", left)}`, over: true };
  if (cap !== null && cost > cap) return { words: `${known} ${more("you let it cost", cap)}`, over: true };
  return {
    words:
      left === null
        ? known
        : `${known} ${dollars(left) === "free" ? "Nothing" : dollars(left)} is left of your budget.`,
    over: false,
  };
}

function more(what: string, amount: number): string {
  return `That is more than ${amount === 0 ? "what" : `the ${dollars(amount)} that`} ${what}.`;
}

function listed(models: readonly string[]): string {
  if (models.length < 3) return models.join(" and ");
  return `${models.slice(0, 2).join(", ")} and ${models.length - 2} more`;
}
