import assert from "node:assert/strict";
import { test } from "node:test";
import { combineAnalyses, tableNotices } from "../src/features/modes/debate/analyses.ts";
import type { Claim, Ranking, DebateSummary } from "../src/api/types.ts";
import { heardOf, report, tells } from "./debates.ts";

const summary = (overview: string) => ({ overview }) as DebateSummary;
const makes = (overview: string) => ({ type: "summary", summary: summary(overview) });
const claim = (words: string) => ({ claim: words }) as Claim;
const writes = (words: string) => ({
  type: "claims",
  claims: { claims: [claim(words)], position_changes: [], dropped_quotes: 2 },
});

test("what was heard is shown before anything was read", () => {
  const found = combineAnalyses(heardOf(makes("Heard"), writes("Heard")), null);
  assert.equal(found.summary?.overview, "Heard");
  assert.deepEqual([found.claims[0]?.claim, found.droppedQuotes], ["Heard", 2]);
});

test("what was read is shown where nothing was heard, as after a reload", () => {
  const read = report({ summary: summary("Read"), claims: [claim("Read")], dropped_quotes: 3 });
  const found = combineAnalyses(heardOf(), { report: read, lastSeq: 0 });
  assert.deepEqual(
    [found.summary?.overview, found.claims[0]?.claim, found.droppedQuotes],
    ["Read", "Read", 3],
  );
});

test("what was heard since counts, and what was heard before does not", () => {
  const run = heardOf(makes("Heard"), writes("Heard"));
  const read = report({ summary: summary("Read"), claims: [claim("Read")] });
  const before = combineAnalyses(run, { report: read, lastSeq: 1 });
  assert.deepEqual([before.summary?.overview, before.claims[0]?.claim], ["Heard", "Heard"]);
  const after = combineAnalyses(run, { report: read, lastSeq: run.lastSeq });
  assert.deepEqual([after.summary?.overview, after.claims[0]?.claim], ["Read", "Read"]);
});

test("a report that does not have it yet takes nothing away", () => {
  const run = heardOf(makes("Heard"));
  assert.equal(combineAnalyses(run, { report: report(), lastSeq: run.lastSeq }).summary?.overview, "Heard");
});

test("votes count as cast until the places are counted", () => {
  const vote = (participant: string) => ({ type: "vote", participant, ranking: [] });
  const counted = { type: "ranking", ranking: { answers: [], votes: {} } as Ranking };
  assert.deepEqual(combineAnalyses(heardOf(vote("alpha"), vote("beta")), null).voters, ["alpha", "beta"]);
  assert.deepEqual(combineAnalyses(heardOf(vote("alpha"), counted, vote("beta")), null).voters, ["beta"]);
});

test("notices are told once, and those from before a retry not at all", () => {
  const run = heardOf(
    tells("missing", "There is no list of claims."),
    tells("retried", "Again."),
    tells("waiting", "Busy.", "alpha"),
    tells("missing", "There is no vote."),
    tells("missing", "There is no vote."),
  );
  assert.deepEqual(
    tableNotices(run).map((one) => one.message),
    ["There is no vote."],
  );
});
