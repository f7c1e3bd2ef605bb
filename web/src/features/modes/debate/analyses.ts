/** What was found in a debate: what was read of it, overtaken by what was heard since. */

import type { Run } from "../../../state/run.ts";
import type {
  Agreed,
  Claim,
  Flip,
  LaneReport,
  Notice,
  Ranking,
  Report,
  Summary,
} from "../../../api/types.ts";

/** A report, and how much of the run had been heard when it was asked for. */
export interface Reading {
  readonly report: Report;
  readonly heard: number;
}

export interface Findings {
  readonly summary: Summary | null;
  readonly ranking: Ranking | null;
  readonly claims: readonly Claim[];
  readonly flips: readonly Flip[];
  /** How many quotes were thrown away, because they are not in the answer they name. */
  readonly unproven: number;
  readonly agreed: Agreed | null;
  readonly lanes: readonly LaneReport[];
  /** Who has cast a ballot since the places were counted last. */
  readonly voted: readonly string[];
}

type Written = Pick<Report, "claims" | "flips" | "unproven">;

export function findingsOf(run: Run, reading: Reading | null): Findings {
  const report = reading?.report ?? null;
  const since = reading?.heard ?? 0;
  const written: Written | null = report?.claims.length || report?.flips.length ? report : null;
  const ledger = newer(run.ledger, written, since, (one): Written => one.ledger);
  return {
    summary: newer(run.summary, report?.summary, since, (one) => one.summary),
    ranking: newer(run.ranking, report?.ranking, since, (one) => one.ranking),
    claims: ledger?.claims ?? [],
    flips: ledger?.flips ?? [],
    unproven: ledger?.unproven ?? 0,
    agreed: newer(run.agreed, report?.agreed, since, (one) => one),
    lanes: report?.lanes ?? [],
    voted: run.ballots.filter((one) => one.seq > (run.ranking?.seq ?? 0)).map((one) => one.participant),
  };
}

/** What was heard counts if it came after the reading, or if the reading does not have it. */
function newer<E extends { seq: number }, T>(
  heard: E | null,
  read: T | null | undefined,
  since: number,
  take: (event: E) => T,
): T | null {
  return heard && (!read || heard.seq > since) ? take(heard) : (read ?? null);
}

/** What the table is told of the debate as a whole, once each, as of when it was tried last. */
export function noticesOf(run: Run): readonly Notice[] {
  const all = run.notices.filter((one) => one.participant === null);
  const newest = all.slice(all.findLastIndex((one) => one.kind === "retried") + 1);
  return [...new Map(newest.map((one) => [one.message, one])).values()];
}
