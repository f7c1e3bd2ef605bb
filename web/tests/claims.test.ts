import assert from "node:assert/strict";
import { test } from "node:test";
import { groupClaims, rankingRows } from "../src/features/modes/debate/claims.ts";
import type { Claim } from "../src/api/types.ts";

const claimQuote = (participant: string) => ({ participant, quote: "", message: "msg_1" });
const claim = (words: string, by: string[], against: string[] = []): Claim => ({
  claim: words,
  supporters: by.map(claimQuote),
  opponents: against.map(claimQuote),
  minority: by.length < against.length,
});

test("disputed claims come first, then shared ones, then single ones", () => {
  const groups = groupClaims([
    claim("one says", ["alpha"]),
    claim("several hold", ["alpha", "beta"]),
    claim("disputed", ["alpha"], ["beta"]),
  ]);
  assert.deepEqual(
    groups.map((group) => [group.name, group.claims[0]?.claim]),
    [
      ["disputed", "disputed"],
      ["shared", "several hold"],
      ["single", "one says"],
    ],
  );
  assert.deepEqual(groupClaims([]), []);
});

test("equal points share a position, and the next position is skipped", () => {
  const rows = rankingRows({
    answers: [
      { participant: "alpha", points: 3, votes: 2 },
      { participant: "beta", points: 3, votes: 2 },
      { participant: "gamma", points: 0, votes: 2 },
    ],
    votes: { alpha: [["beta", "gamma"]], beta: [["alpha"], ["gamma"]], gamma: [["alpha"], ["beta"]] },
  });
  assert.deepEqual(
    rows.map((one) => [one.position, one.share]),
    [
      [1, 1],
      [1, 1],
      [3, 0],
    ],
  );
  assert.deepEqual(rows[2]?.voterPositions, [
    { voter: "alpha", place: 1 },
    { voter: "beta", place: 2 },
  ]);
});

test("without points, shares are 0", () => {
  const rows = rankingRows({ answers: [{ participant: "alpha", points: 0, votes: 1 }], votes: {} });
  assert.equal(rows[0]?.share, 0);
});

test("positions follow the points per vote, so that fewer votes are no disadvantage", () => {
  const rows = rankingRows({
    answers: [
      { participant: "alpha", points: 2, votes: 1 },
      { participant: "beta", points: 3, votes: 2 },
    ],
    votes: {},
  });
  assert.deepEqual(
    rows.map(({ position, share }) => [position, share]),
    [
      [1, 1],
      [2, 0.75],
    ],
  );
});
