/** What was learnt from discussions, in words, and in an order in which an answer stands below what it answers. */

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

/** The look of a chip by how grave something is. */
export function severityTone(severity: Severity | null): "bad" | "warn" | "" {
  if (severity === "blocker" || severity === "high") return "bad";
  return severity === "medium" ? "warn" : "";
}

export interface InsightGroup {
  readonly insight: Insight;
  readonly answers: readonly Insight[];
  /** What it answers, where that is not shown right above. */
  readonly answeredInsight: Insight | null;
}

/** Put what answers something below it, wherever both are shown; nothing is lost, and nothing stands twice. */
export function pairInsights(
  insights: readonly Insight[],
  kind: InsightKind | null = null,
): readonly InsightGroup[] {
  const known = new Map(insights.map((one) => [one.id, one]));
  const shown = insights.filter((one) => kind === null || one.kind === kind);
  const ids = new Set(shown.map((one) => one.id));
  const isRoot = (one: Insight) =>
    one.paired === null || !ids.has(one.paired) || known.get(one.paired)?.paired != null;
  return shown.filter(isRoot).map((insight) => ({
    insight,
    answers: shown.filter((one) => one.paired === insight.id && !isRoot(one)),
    answeredInsight: known.get(insight.paired ?? "") ?? null,
  }));
}

/** How many there are of each kind that occurs, in the order in which kinds are shown. */
export function countKinds(insights: readonly Insight[]): readonly { kind: InsightKind; count: number }[] {
  return (Object.keys(INSIGHT_KIND_LABELS) as InsightKind[])
    .map((kind) => ({ kind, count: insights.filter((one) => one.kind === kind).length }))
    .filter((one) => one.count > 0);
}

/** How useful a discussion was, as the model that read it judged. */
export function usefulnessLabel(share: number): string {
  if (share >= 0.8) return "Very useful";
  if (share >= 0.5) return "Useful";
  return share >= 0.25 ? "Somewhat useful" : "Of little use";
}

/** An address that a browser may go to; what else stands there is shown as it is. */
export function parseWebUrl(text: string): string | null {
  return /^https?:\/\/\S+$/i.test(text.trim()) ? text.trim() : null;
}
