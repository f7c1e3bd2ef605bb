/** What is told of one participant while it tries to answer: that it waits, tries again, or that another model is asked. */

import type { Notice } from "../wire.ts";
import type { Run } from "./run.ts";
import { isLive, type Turn } from "./turn.ts";

/** Worth knowing also when the answer is there: somebody else may have given it. */
const LASTING: ReadonlySet<Notice["kind"]> = new Set(["fallback", "lead_replaced", "missing"]);

export function remarksOn(run: Run, turn: Turn): readonly Notice[] {
  if (!run.notices.length) return [];
  const own = run.notices.filter((one) => one.participant === turn.participant);
  if (!own.length) return own;
  const here = turn.at || Infinity; // whoever has not begun comes last
  const before = others(run, turn).filter((at) => at < here);
  const until = before.length === others(run, turn).length ? Infinity : here;
  const its = own.filter((one) => one.at > Math.max(0, ...before) && one.at <= until);
  const isTrying = isLive(turn) && !turn.text && !turn.thoughts;
  return isTrying ? its.slice(-1) : its.filter((one) => LASTING.has(one.kind));
}

/** When the other turns of the same participant ended, or began where they go on. */
function others(run: Run, turn: Turn): readonly number[] {
  return run.turns
    .filter((one) => one.participant === turn.participant && one.key !== turn.key)
    .map((one) => one.at);
}
