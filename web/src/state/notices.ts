/** What is told of one participant while it tries to answer: that it waits, tries again, or that another model is asked. */

import type { Notice } from "../api/types.ts";
import type { Run } from "./run.ts";
import { isLive, type Turn } from "./turn.ts";

/** Worth knowing also when the answer is there: somebody else may have given it. */
const LASTING: ReadonlySet<Notice["kind"]> = new Set(["fallback", "lead_replaced", "missing", "tools"]);

export function remarksOn(run: Run, turn: Turn): readonly Notice[] {
  const own = run.notices.filter((one) => one.participant === turn.participant);
  if (!own.length) return own;
  const turns = turnsOf(run, turn);
  const its = own.filter((notice) => holder(turns, notice)?.key === turn.key);
  const isTrying = isLive(turn) && !turn.text && !turn.thoughts;
  return isTrying
    ? its.slice(-1)
    : its.filter((one) => LASTING.has(one.kind) || (isLive(turn) && one.kind === "still_working"));
}

/** All turns of the same participant; one that has not begun comes last. */
function turnsOf(run: Run, turn: Turn): readonly Turn[] {
  const own = run.turns.filter((one) => one.participant === turn.participant);
  return own.some((one) => one.key === turn.key) ? own : [...own, turn];
}

/** Find the turn in which something was told: the first that had not ended then. */
function holder(turns: readonly Turn[], notice: Notice): Turn | undefined {
  return turns.find(({ until }) => until === null || until >= notice.at) ?? turns.at(-1);
}
