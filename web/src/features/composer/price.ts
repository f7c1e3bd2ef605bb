/** What a question would cost, in words: what is known, what is not, and whether it is too much. */

import { dollars } from "../../ui/format.ts";
import type { Estimate, Forecast } from "../../api/types.ts";

/** Say it in a few words; what is not known is never counted as nothing. */
export function brief({ cost, calls, unknown }: Forecast): string {
  const asked = calls === 1 ? "1 call" : `${calls} calls`;
  if (unknown.length === 0) return `${cost === 0 ? "Costs nothing" : `About ${dollars(cost)}`}, ${asked}`;
  return cost === 0 ? `${asked}, price unknown` : `At least ${dollars(cost)}, ${asked}`;
}

/** Say why it is more than may be spent; nothing where it is not. */
export function excess({ forecast: { cost }, left }: Estimate, cap: number | null): string {
  if (left !== null && cost > left) return more("is left of your budget this week", left);
  if (cap !== null && cost > cap) return more("you set as its limit", cap);
  return "";
}

function more(what: string, amount: number): string {
  return `That is more than ${amount === 0 ? "what" : `the ${dollars(amount)} that`} ${what}.`;
}
