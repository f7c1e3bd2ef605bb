/** Usage data prepared for display: days without gaps, rows by amount, and labels. */

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
  cost_usd: 0,
  unpriced_calls: 0,
};

/** Labels for the purposes of calls. */
const PURPOSE_LABELS: Readonly<Record<string, string>> = {
  answer: "Answers",
  synthesis: "Syntheses",
  summary: "Summaries of debates",
  ranking: "Rankings",
  claims: "Claims in debates",
  agreement: "Agreement checks",
  title: "Titles",
  export: "Discussion summaries",
  consolidation: "Patterns of projects",
  director: "Directing lessons",
  assertion: "Judging answers",
  improvement: "Improving answers",
  persona_suggestions: "Suggesting personas",
  reference_summary: "Reference summaries",
  memory: "Channel memory",
};

/** The first of `days` days ending today, in UTC. */
export function firstDay(days: number, now = Date.now()): string {
  return new Date(now - (days - 1) * DAY_MS).toISOString().slice(0, 10);
}

/** Fill days without spending. */
export function fillMissingDays({ since, until, rows }: UsageReport): readonly SpendingItem[] {
  const known = new Map(rows.map((row) => [row.key, row]));
  const count = Math.round((Date.parse(until) - Date.parse(since)) / DAY_MS) + 1;
  return Array.from({ length: Math.max(count, 0) }, (_, place) => {
    const key = new Date(Date.parse(since) + place * DAY_MS).toISOString().slice(0, 10);
    return known.get(key) ?? { ...NO_SPENDING, key, title: null };
  });
}

/** Stacked parts of a bar: one for cost, two for tokens. */
export function amountParts(row: Spending, measure: Measure): readonly number[] {
  return measure === "cost" ? [row.cost_usd] : [row.input, row.output];
}

export function totalAmount(row: Spending, measure: Measure): number {
  return amountParts(row, measure).reduce((sum, one) => sum + one, 0);
}

/** Sort by the measure, largest first. */
export function sortByAmount(rows: readonly SpendingItem[], measure: Measure): readonly SpendingItem[] {
  return [...rows].sort((a, b) => totalAmount(b, measure) - totalAmount(a, measure) || b.calls - a.calls);
}

/** Label of a row. */
export function rowLabel(row: SpendingItem, by: UsageReport["by"]): string {
  switch (by) {
    case "day":
      return formatDay(row.key ?? "");
    case "model":
      return row.key ?? "Unknown model";
    case "purpose":
      return purposeLabel(row.key);
    case "discussion":
      return row.title ?? (row.key ? "A deleted discussion" : "Outside discussions");
  }
}

export function purposeLabel(key: string | null): string {
  return PURPOSE_LABELS[key ?? ""] ?? key ?? "Other";
}

export function formatDay(key: string): string {
  const [year, month, date] = key.split("-").map(Number);
  if (!year || !month || !date) return key;
  return new Intl.DateTimeFormat("en", { day: "numeric", month: "short", timeZone: "UTC" }).format(
    Date.UTC(year, month - 1, date),
  );
}

/** Format money with as many digits as are needed to see it. */
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

/** Format the cost, or say that it is unknown. */
export function formatPrice({ cost_usd, calls, unpriced_calls }: Spending): string {
  if (!unpriced_calls) return formatMoney(cost_usd);
  return unpriced_calls === calls && !cost_usd ? "unknown" : `${formatMoney(cost_usd)} +`;
}

/** Notes that explain the sums. */
export function spendingNotes(total: Spending): readonly string[] {
  const calls = total.unpriced_calls === 1 ? "1 call has" : `${total.unpriced_calls} calls have`;
  return [
    ...(total.unpriced_calls ? [`${calls} no known price; the sums (marked +) leave out the cost.`] : []),
    ...(total.estimated
      ? ["Some tokens were not counted by the provider; they are estimated from the length of the text."]
      : []),
  ];
}
