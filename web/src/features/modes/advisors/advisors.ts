/** Parts of an advisors run, and the state of each advisor: first it only asks questions, then it advises. */

import { isAnswered, type Turn } from "../../../state/turn.ts";
import type { OpenDiscussion } from "../../../state/discussion.ts";
import type { Run } from "../../../state/run.ts";
import type { Discussion } from "../../../api/types.ts";

interface AdviceParts {
  readonly answers: readonly Turn[];
  readonly replies: readonly Turn[];
  /** Advisors without a reply. */
  readonly passes: readonly Turn[];
  readonly syntheses: readonly Turn[];
}

const PASS_TEXTS = new Set(["pass", "pass."]);

/** Split a run into answers, replies to each other, and the synthesis. */
export function splitAdvice(turns: readonly Turn[]): AdviceParts {
  const syntheses = turns.filter((turn) => turn.role === "synthesis");
  const between = turns.filter((turn) => turn.stage === "cross_talk");
  const passed = between.filter((turn) => PASS_TEXTS.has(turn.text.trim().toLowerCase()));
  return {
    answers: turns.filter((turn) => turn.role !== "synthesis" && turn.stage !== "cross_talk"),
    replies: between.filter((turn) => !passed.includes(turn)),
    passes: passed,
    syntheses,
  };
}

const DEFAULT_QUESTION_TURNS = 3; // default of the server

type AdvisorState =
  { readonly kind: "asks"; readonly turn: number; readonly total: number } | { readonly kind: "speaks" };

/**
 * The state of an advisor in a run, or in the run after it; null if older messages are needed to know. Only the advisor's
 * own answered turns count.
 */
export function advisorState(
  open: OpenDiscussion,
  discussion: Discussion,
  run: Run,
  participant: string,
  { isNext = false } = {},
): AdvisorState | null {
  const place = open.runs.findIndex((one) => one.id === run.id);
  const runs = open.runs.slice(0, isNext ? place + 1 : Math.max(place, 0));
  const questionTurns = discussion.advisors?.question_turns ?? DEFAULT_QUESTION_TURNS;
  const own = runs.filter(
    (one) => !one.regenerate && one.turns.some((turn) => isCountedTurn(turn, participant)),
  ).length;
  if (own >= questionTurns) return { kind: "speaks" };
  return open.olderCursor === null ? { kind: "asks", turn: own + 1, total: questionTurns } : null;
}

const isCountedTurn = (turn: Turn, participant: string): boolean =>
  turn.participant === participant && turn.role === "assistant" && isAnswered(turn);

export function advisorStateLabel(state: AdvisorState): string {
  return state.kind === "speaks" ? "Advising" : `Asking, round ${state.turn} of ${state.total}`;
}
