/** Claims sorted for reading, and ranking places with ties. */

import type { Claim, RankedAnswer, Ranking } from "../../../api/types.ts";

export interface ClaimGroup {
  readonly name: "disputed" | "shared" | "single";
  readonly claims: readonly Claim[];
}

/** Disagreements first, then shared claims, then single claims. */
export function groupClaims(claims: readonly Claim[]): readonly ClaimGroup[] {
  const groups = (["disputed", "shared", "single"] as const).map((name) => ({
    name,
    claims: claims.filter((claim) => claimKind(claim) === name),
  }));
  return groups.filter((group) => group.claims.length > 0);
}

function claimKind(claim: Claim): ClaimGroup["name"] {
  if (claim.opponents.length) return "disputed";
  return claim.supporters.length > 1 ? "shared" : "single";
}

interface RankingRow extends RankedAnswer {
  readonly position: number;
  /** Points per vote relative to the winner, for the length of a bar. */
  readonly share: number;
  /** The place that each voter gave. */
  readonly voterPositions: readonly { voter: string; place: number }[];
}

/** Number the places. Equal points per vote share a place. */
export function rankingRows({ answers, votes: rankings }: Ranking): readonly RankingRow[] {
  const worth = ({ points, votes }: RankedAnswer) => (votes ? points / votes : 0);
  const most = Math.max(...answers.map(worth), 0);
  return answers.map((one) => ({
    ...one,
    position: 1 + answers.filter((other) => worth(other) > worth(one)).length,
    share: most ? worth(one) / most : 0,
    voterPositions: Object.entries(rankings).flatMap(([voter, ranking]) => {
      const place = ranking.findIndex((tier) => tier.includes(one.participant));
      return place < 0 ? [] : [{ voter, place: 1 + ranking.slice(0, place).flat().length }];
    }),
  }));
}
