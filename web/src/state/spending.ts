/** What was spent, made ready to be shown: days without gaps, the dearest first, and in words. */

import type { Spending, SpendingItem, UsageReport } from "../api/types.ts";

export type Measure = "cost" | "tokens";

const DAY_MS = 24 * 3600 * 1000;
const NO_SPENDING: Spending = {
  calls: 0,
  input: 0,
  output: 0,
  reasoning: 0,
  cached: 0,
  cache_written: 0,
  estimated: false,
  cost: 0,
  unpriced: 0,
};

/** What calls were made for, in words. */
const PURPOSE_LABELS: Readonly<Record<string, string>> = {
  answer: "Answers",
  synthesis: "Syntheses",
  summary: "Summaries of debates",
  ranking: "Rankings",
  ledger: "Claims in debates",
  gate: "Checks whether the table agrees",
  title: "Titles",
  export: "Writing down what discussions came to",
  consolidation: "Patterns of projects",
  director: "Directing lessons",
  assertion: "Judging answers",
  improvement: "Improving answers",
  perspective: "Finding perspectives",
  recap: "Recaps of what was said before",
  memory: "Remembering what was said in channels",
};

/** The first of as many days as asked for, of which the last is today; days are those of UTC. */
export function firstDay(days: number, now = Date.now()): string {
  return new Date(now - (days - 1) * DAY_MS).toISOString().slice(0, 10);
}

/** Put days on which nothing was spent between the others. */
export function fillMissingDays({ since, until, rows }: UsageReport): readonly SpendingItem[] {
  const known = new Map(rows.map((row) => [row.key, row]));
  const count = Math.round((Date.parse(until) - Date.parse(since)) / DAY_MS) + 1;
  return Array.from({ length: Math.max(count, 0) }, (_, place) => {
    const key = new Date(Date.parse(since) + place * DAY_MS).toISOString().slice(0, 10);
    return known.get(key) ?? { ...NO_SPENDING, key, title: null };
  });
}

/** The amounts that stand on each other in a bar: one of money, two of tokens. */
export function amountParts(row: Spending, measure: Measure): readonly number[] {
  return measure === "cost" ? [row.cost] : [row.input, row.output];
}

export function totalAmount(row: Spending, measure: Measure): number {
  return amountParts(row, measure).reduce((sum, one) => sum + one, 0);
}

/** The greatest first, by what is looked at. */
export function sortByAmount(rows: readonly SpendingItem[], measure: Measure): readonly SpendingItem[] {
  return [...rows].sort((a, b) => totalAmount(b, measure) - totalAmount(a, measure) || b.calls - a.calls);
}

/** What a row is about, as it is written on the page. */
export function rowLabel(row: SpendingItem, by: UsageReport["by"]): string {
  switch (by) {
    case "day":
      return formatDay(row.key ?? "");
    case "model":
      return row.key ?? "Unknown model";
    case "purpose":
      return purposeLabel(row.key);
    case "discussion":
      return row.title ?? (row.key ? "A deleted discussion" : "Outside of discussions");
  }
}

export function purposeLabel(key: string | null): string {
  return PURPOSE_LABELS[key ?? ""] ?? key ?? "Something else";
}

export function formatDay(key: string): string {
  const [year, month, date] = key.split("-").map(Number);
  if (!year || !month || !date) return key;
  return new Intl.DateTimeFormat("en", { day: "numeric", month: "short", timeZone: "UTC" }).format(
    Date.UTC(year, month - 1, date),
  );
}

/** A sum of money, with as many digits as it takes to see it. */
export function formatMoney(amount: number): string {
  const digits = amount === 0 || amount >= 0.995 ? 2 : Math.min(6, 1 - Math.floor(Math.log10(amount)));
  const text = new Intl.NumberFormat("en", {
    style: "currency",
    currency: "USD",
    minimumFractionDigits: amount === 0 ? 0 : 2,
    maximumFractionDigits: Math.max(digits, 2),
  }).format(amount);
  return amount > 0 && amount < 0.000_001 ? "less than $0.000001" : text;
}

/** What it cost, and plainly where nobody knows. */
export function formatPrice({ cost, calls, unpriced }: Spending): string {
  if (!unpriced) return formatMoney(cost);
  return unpriced === calls && !cost ? "unknown" : `${formatMoney(cost)} +`;
}

/** What one has to know to read the sums. */
export function spendingNotes(total: Spending): readonly string[] {
  const calls = total.unpriced === 1 ? "1 call" : `${total.unpriced} calls`;
  return [
    ...(total.unpriced
      ? [`Nobody here knows the price of ${calls}: what they cost is missing from the sums (marked +).`]
      : []),
    ...(total.estimated
      ? ["Some tokens were not counted by the provider; they are estimated from the length of the text."]
      : []),
  ];
}
