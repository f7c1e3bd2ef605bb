/** Labels of insights and patterns. An insight that answers another is sorted below it. */

import type { Insight, Pattern } from "../../../api/types.ts";

export type InsightKind = Insight["kind"];
export type Severity = NonNullable<Insight["severity"]>;

export const INSIGHT_KIND_LABELS: Readonly<Record<InsightKind, string>> = {
  pain_point: "Pain point",
  solution: "Solution",
  decision: "Decision",
  strength: "Strength",
  pattern: "Pattern",
};

export const PATTERN_KIND_LABELS: Readonly<Record<Pattern["kind"], string>> = {
  pain: "Pain point",
  success: "What works",
  solution: "Solution",
  pattern: "Pattern",
  tool: "Tool",
  architecture: "Architecture",
};

export const SEVERITY_LABELS: Readonly<Record<Severity, string>> = {
  blocker: "Blocker",
  high: "High",
  medium: "Medium",
  low: "Low",
};

/** Chip style by severity. */
export function severityTone(severity: Severity | null): "bad" | "warn" | "" {
  if (severity === "blocker" || severity === "high") return "bad";
  return severity === "medium" ? "warn" : "";
}

export interface InsightGroup {
  readonly insight: Insight;
  readonly answers: readonly Insight[];
  /** The insight it answers, if that is not right above. */
  readonly answeredInsight: Insight | null;
}

/** Sort answers below the insights that they answer, without losses or duplicates. */
export function pairInsights(insights: readonly Insight[], kind: InsightKind | null = null): readonly InsightGroup[] {
  const known = new Map(insights.map((one) => [one.id, one]));
  const shown = insights.filter((one) => kind === null || one.kind === kind);
  const ids = new Set(shown.map((one) => one.id));
  const isRoot = (one: Insight) =>
    one.answers_insight === null ||
    !ids.has(one.answers_insight) ||
    known.get(one.answers_insight)?.answers_insight != null;
  return shown.filter(isRoot).map((insight) => ({
    insight,
    answers: shown.filter((one) => one.answers_insight === insight.id && !isRoot(one)),
    answeredInsight: known.get(insight.answers_insight ?? "") ?? null,
  }));
}

/** Number of insights by kind, in display order. */
export function countKinds(insights: readonly Insight[]): readonly { kind: InsightKind; count: number }[] {
  return (Object.keys(INSIGHT_KIND_LABELS) as InsightKind[])
    .map((kind) => ({ kind, count: insights.filter((one) => one.kind === kind).length }))
    .filter((one) => one.count > 0);
}

/** Label for the usefulness score of the model. */
export function usefulnessLabel(share: number): string {
  if (share >= 0.8) return "Very useful";
  if (share >= 0.5) return "Useful";
  return share >= 0.25 ? "Somewhat useful" : "Of little use";
}

/** Return an http(s) URL, or null. Other text is shown without a link. */
export function parseWebUrl(text: string): string | null {
  return /^https?:\/\/\S+$/i.test(text.trim()) ? text.trim() : null;
}
