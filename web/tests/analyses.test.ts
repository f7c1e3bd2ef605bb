import assert from "node:assert/strict";
import { test } from "node:test";
import { combineAnalyses, debateNotices } from "../src/features/modes/debate/analyses.ts";
import type { Claim, Ranking, DebateSummary } from "../src/api/types.ts";
import { runFromEvents, report, notice } from "./debates.ts";

const summary = (overview: string) => ({ overview }) as DebateSummary;
const summaryEvent = (overview: string) => ({ type: "summary", summary: summary(overview) });
const claim = (words: string) => ({ claim: words }) as Claim;
const claimsEvent = (words: string) => ({
  type: "claims",
  claims: { claims: [claim(words)], position_changes: [], dropped_quotes: 2 },
});

test("analyses come from events before the report is loaded", () => {
  const analyses = combineAnalyses(runFromEvents(summaryEvent("From events"), claimsEvent("From events")), null);
  assert.equal(analyses.summary?.overview, "From events");
  assert.deepEqual([analyses.claims[0]?.claim, analyses.droppedQuotes], ["From events", 2]);
});

test("analyses come from the report if there are no events, as after a reload", () => {
  const loaded = report({
    summary: summary("From report"),
    claims: [claim("From report")],
    dropped_quotes: 3,
  });
  const analyses = combineAnalyses(runFromEvents(), { report: loaded, lastSeq: 0 });
  assert.deepEqual(
    [analyses.summary?.overview, analyses.claims[0]?.claim, analyses.droppedQuotes],
    ["From report", "From report", 3],
  );
});

test("events after the report replace it, and earlier ones do not", () => {
  const run = runFromEvents(summaryEvent("From events"), claimsEvent("From events"));
  const loaded = report({ summary: summary("From report"), claims: [claim("From report")] });
  const before = combineAnalyses(run, { report: loaded, lastSeq: 1 });
  assert.deepEqual([before.summary?.overview, before.claims[0]?.claim], ["From events", "From events"]);
  const after = combineAnalyses(run, { report: loaded, lastSeq: run.lastSeq });
  assert.deepEqual([after.summary?.overview, after.claims[0]?.claim], ["From report", "From report"]);
});

test("an incomplete report does not remove results of events", () => {
  const run = runFromEvents(summaryEvent("From events"));
  assert.equal(combineAnalyses(run, { report: report(), lastSeq: run.lastSeq }).summary?.overview, "From events");
});

test("voters are listed until the ranking is counted", () => {
  const vote = (participant: string) => ({ type: "vote", participant, ranking: [] });
  const counted = { type: "ranking", ranking: { answers: [], votes: {} } as Ranking };
  assert.deepEqual(combineAnalyses(runFromEvents(vote("alpha"), vote("beta")), null).voters, ["alpha", "beta"]);
  assert.deepEqual(combineAnalyses(runFromEvents(vote("alpha"), counted, vote("beta")), null).voters, ["beta"]);
});

test("repeated notices are shown once, and notices before a retry are not shown", () => {
  const run = runFromEvents(
    notice("missing", "There is no list of claims."),
    notice("retried", "Again."),
    notice("waiting", "Busy.", "alpha"),
    notice("missing", "There is no vote."),
    notice("missing", "There is no vote."),
  );
  assert.deepEqual(
    debateNotices(run).map((one) => one.message),
    ["There is no vote."],
  );
});
