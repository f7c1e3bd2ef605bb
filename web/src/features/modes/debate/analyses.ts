/** Analyses of a debate: the loaded report, updated by later events. */

import type { Run } from "../../../state/run.ts";
import type {
  AgreementChecked,
  Claim,
  PositionChange,
  LaneReport,
  Notice,
  Ranking,
  RunReport,
  DebateSummary,
} from "../../../api/types.ts";

/** A report, and the event number when it was requested. */
export interface LoadedReport {
  readonly report: RunReport;
  readonly lastSeq: number;
}

export interface DebateAnalyses {
  readonly summary: DebateSummary | null;
  readonly ranking: Ranking | null;
  readonly claims: readonly Claim[];
  readonly positionChanges: readonly PositionChange[];
  /** Number of quotes that were dropped because they are not in the quoted answer. */
  readonly droppedQuotes: number;
  readonly agreement: AgreementChecked | null;
  readonly lanes: readonly LaneReport[];
  /** Participants who voted since the ranking was last computed. */
  readonly voters: readonly string[];
}

type ReportedClaims = Pick<RunReport, "claims" | "position_changes" | "dropped_quotes">;

export function combineAnalyses(run: Run, loadedReport: LoadedReport | null): DebateAnalyses {
  const report = loadedReport?.report ?? null;
  const since = loadedReport?.lastSeq ?? 0;
  const written: ReportedClaims | null = report?.claims.length || report?.position_changes.length ? report : null;
  const extracted = newerResult(run.claims, written, since, (one): ReportedClaims => one.claims);
  return {
    summary: newerResult(run.summary, report?.summary, since, (one) => one.summary),
    ranking: newerResult(run.ranking, report?.ranking, since, (one) => one.ranking),
    claims: extracted?.claims ?? [],
    positionChanges: extracted?.position_changes ?? [],
    droppedQuotes: extracted?.dropped_quotes ?? 0,
    agreement: newerResult(run.agreement, report?.agreement, since, (one) => one),
    lanes: report?.lanes ?? [],
    voters: run.votes.filter((one) => one.seq > (run.ranking?.seq ?? 0)).map((one) => one.participant),
  };
}

/** An event counts if it is newer than the report, or if the report lacks it. */
function newerResult<E extends { seq: number }, T>(
  event: E | null,
  stored: T | null | undefined,
  sinceSeq: number,
  select: (event: E) => T,
): T | null {
  return event && (!stored || event.seq > sinceSeq) ? select(event) : (stored ?? null);
}

/** Notices about the whole debate, without duplicates, since the last retry. */
export function debateNotices(run: Run): readonly Notice[] {
  const all = run.notices.filter((one) => one.participant === null);
  const newest = all.slice(all.findLastIndex((one) => one.kind === "retried") + 1);
  return [...new Map(newest.map((one) => [one.message, one])).values()];
}
