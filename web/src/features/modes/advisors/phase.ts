/** Phase of an advisor: first it only asks questions, then it advises. */

import type { OpenDiscussion } from "../../../state/discussion.ts";
import type { Run } from "../../../state/run.ts";
import { isAnswered, type Turn } from "../../../state/turn.ts";
import type { Discussion } from "../../../api/types.ts";

const DEFAULT_QUESTION_TURNS = 3; // default of the server

type AdvisorPhase =
  { readonly kind: "asks"; readonly turn: number; readonly total: number } | { readonly kind: "speaks" };

/** The phase of an advisor in a run; null if older messages are needed to know. */
export function advisorPhase(
  open: OpenDiscussion,
  discussion: Discussion,
  run: Run,
  participant: string,
): AdvisorPhase | null {
  const place = open.runs.findIndex((one) => one.id === run.id);
  return phaseAfter(open.runs.slice(0, Math.max(place, 0)), open, discussion, participant);
}

/** The phase in the next run. */
export function nextAdvisorPhase(
  open: OpenDiscussion,
  discussion: Discussion,
  run: Run,
  participant: string,
): AdvisorPhase | null {
  const place = open.runs.findIndex((one) => one.id === run.id);
  return phaseAfter(open.runs.slice(0, place + 1), open, discussion, participant);
}

/** Only the advisor's own answered turns count. */
function phaseAfter(
  runs: readonly Run[],
  open: OpenDiscussion,
  discussion: Discussion,
  participant: string,
): AdvisorPhase | null {
  const questionTurns = discussion.advisors?.question_turns ?? DEFAULT_QUESTION_TURNS;
  const own = runs.filter(
    (one) => !one.regenerate && one.turns.some((turn) => isCountedTurn(turn, participant)),
  ).length;
  if (own >= questionTurns) return { kind: "speaks" };
  return open.olderCursor === null ? { kind: "asks", turn: own + 1, total: questionTurns } : null;
}

const isCountedTurn = (turn: Turn, participant: string): boolean =>
  turn.participant === participant && turn.role === "assistant" && isAnswered(turn);

export function phaseLabel(phase: AdvisorPhase): string {
  return phase.kind === "speaks" ? "Advising" : `Asking, round ${phase.turn} of ${phase.total}`;
}
