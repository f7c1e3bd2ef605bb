/** Notices about one participant while it answers: waiting, retrying, or a fallback model. */

import type { Notice } from "../api/types.ts";
import type { Run } from "./run.ts";
import { isLiveTurn, type Turn } from "./turn.ts";

/** Still shown when the answer is complete: another model may have given it. */
const LASTING_KINDS: ReadonlySet<Notice["kind"]> = new Set(["fallback", "lead_replaced", "missing", "tools"]);

export function turnNotices(run: Run, turn: Turn): readonly Notice[] {
  const own = run.notices.filter((one) => one.participant === turn.participant);
  if (!own.length) return own;
  const turns = participantTurns(run, turn);
  const its = own.filter((notice) => findNoticeTurn(turns, notice)?.key === turn.key);
  const isTrying = isLiveTurn(turn) && !turn.text && !turn.thoughts;
  return isTrying
    ? its.slice(-1)
    : its.filter((one) => LASTING_KINDS.has(one.kind) || (isLiveTurn(turn) && one.kind === "still_working"));
}

/** All turns of a participant; one that has not started comes last. */
function participantTurns(run: Run, turn: Turn): readonly Turn[] {
  const own = run.turns.filter((one) => one.participant === turn.participant);
  return own.some((one) => one.key === turn.key) ? own : [...own, turn];
}

/** Find the turn that a notice belongs to: the first that had not ended at that time. */
function findNoticeTurn(turns: readonly Turn[], notice: Notice): Turn | undefined {
  return turns.find(({ endedAt: until }) => until === null || until >= notice.at) ?? turns.at(-1);
}
