/** How far an advisor is with its person: in its first turns it only asks, then it speaks freely. */

import type { OpenDiscussion } from "../../../state/discussion.ts";
import type { Run } from "../../../state/run.ts";
import { isAnswered, type Turn } from "../../../state/turn.ts";
import type { Discussion } from "../../../api/types.ts";

const DEFAULT_QUESTION_TURNS = 3; // unless the discussion says otherwise

type AdvisorPhase =
  { readonly kind: "asks"; readonly turn: number; readonly total: number } | { readonly kind: "speaks" };

/** The phase of an advisor in a run. Null: it cannot be told from what was read. */
export function advisorPhase(
  open: OpenDiscussion,
  discussion: Discussion,
  run: Run,
  participant: string,
): AdvisorPhase | null {
  const place = open.runs.findIndex((one) => one.id === run.id);
  return phaseAfter(open.runs.slice(0, Math.max(place, 0)), open, discussion, participant);
}

/** The phase in which it will be when it is asked the next time. */
export function nextAdvisorPhase(
  open: OpenDiscussion,
  discussion: Discussion,
  run: Run,
  participant: string,
): AdvisorPhase | null {
  const place = open.runs.findIndex((one) => one.id === run.id);
  return phaseAfter(open.runs.slice(0, place + 1), open, discussion, participant);
}

/** Its own answered turns count, whatever the others did. */
function phaseAfter(
  runs: readonly Run[],
  open: OpenDiscussion,
  discussion: Discussion,
  participant: string,
): AdvisorPhase | null {
  const early = discussion.advisors?.early ?? DEFAULT_QUESTION_TURNS;
  const own = runs.filter(
    (one) => !one.regenerate && one.turns.some((turn) => isCountedTurn(turn, participant)),
  ).length;
  if (own >= early) return { kind: "speaks" };
  return open.olderCursor === null ? { kind: "asks", turn: own + 1, total: early } : null;
}

const isCountedTurn = (turn: Turn, participant: string): boolean =>
  turn.participant === participant && turn.role === "assistant" && isAnswered(turn);

export function phaseLabel(phase: AdvisorPhase): string {
  return phase.kind === "speaks" ? "Advising" : `Asking, round ${phase.turn} of ${phase.total}`;
}
