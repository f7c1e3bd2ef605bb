/** How far an advisor is with its person: in its first turns it only asks, then it speaks freely. */

import type { Open } from "../../../state/discussion.ts";
import type { Run } from "../../../state/run.ts";
import { isAnswered, type Turn } from "../../../state/turn.ts";
import type { Discussion } from "../../../api/types.ts";

const EARLY = 3; // unless the discussion says otherwise

type Phase =
  { readonly kind: "asks"; readonly turn: number; readonly of: number } | { readonly kind: "speaks" };

/** The phase of an advisor in a run. Null: it cannot be told from what was read. */
export function phase(open: Open, discussion: Discussion, run: Run, participant: string): Phase | null {
  const place = open.runs.findIndex((one) => one.id === run.id);
  return after(open.runs.slice(0, Math.max(place, 0)), open, discussion, participant);
}

/** The phase in which it will be when it is asked the next time. */
export function next(open: Open, discussion: Discussion, run: Run, participant: string): Phase | null {
  const place = open.runs.findIndex((one) => one.id === run.id);
  return after(open.runs.slice(0, place + 1), open, discussion, participant);
}

/** Its own answered turns count, whatever the others did. */
function after(runs: readonly Run[], open: Open, discussion: Discussion, participant: string): Phase | null {
  const early = discussion.advisors?.early ?? EARLY;
  const own = runs.filter((one) => !one.again && one.turns.some((turn) => counts(turn, participant))).length;
  if (own >= early) return { kind: "speaks" };
  return open.before === null ? { kind: "asks", turn: own + 1, of: early } : null;
}

const counts = (turn: Turn, participant: string): boolean =>
  turn.participant === participant && turn.role === "assistant" && isAnswered(turn);

export function told(phase: Phase): string {
  return phase.kind === "speaks" ? "Advising" : `Asking, round ${phase.turn} of ${phase.of}`;
}
