import assert from "node:assert/strict";
import { test } from "node:test";
import { groupClaims, rankingRows } from "../src/features/modes/debate/claims.ts";
import type { Claim } from "../src/api/types.ts";

const voice = (participant: string) => ({ participant, quote: "", message: "msg_1" });
const claim = (words: string, by: string[], against: string[] = []): Claim => ({
  claim: words,
  supporters: by.map(voice),
  opponents: against.map(voice),
  minority: by.length < against.length,
});

test("what is disputed comes first, then what several hold, then what one says", () => {
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

test("who has as many points shares the place, and the next place is left out", () => {
  const places = rankingRows({
    answers: [
      { participant: "alpha", points: 3, votes: 2 },
      { participant: "beta", points: 3, votes: 2 },
      { participant: "gamma", points: 0, votes: 2 },
    ],
    votes: { alpha: [["beta", "gamma"]], beta: [["alpha"], ["gamma"]], gamma: [["alpha"], ["beta"]] },
  });
  assert.deepEqual(
    places.map((one) => [one.position, one.share]),
    [
      [1, 1],
      [1, 1],
      [3, 0],
    ],
  );
  assert.deepEqual(places[2]?.voterPositions, [
    { voter: "alpha", place: 1 },
    { voter: "beta", place: 2 },
  ]);
});

test("where nobody has a point, no bar is drawn", () => {
  const places = rankingRows({ answers: [{ participant: "alpha", points: 0, votes: 1 }], votes: {} });
  assert.equal(places[0]?.share, 0);
});

test("who was judged by fewer is not behind for that: places are those of the points a vote", () => {
  const places = rankingRows({
    answers: [
      { participant: "alpha", points: 2, votes: 1 },
      { participant: "beta", points: 3, votes: 2 },
    ],
    votes: {},
  });
  assert.deepEqual(
    places.map(({ position: place, share }) => [place, share]),
    [
      [1, 1],
      [2, 0.75],
    ],
  );
});
