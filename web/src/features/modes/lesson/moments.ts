/** A lesson as a list of moments: pieces of speech and actions, in order. */

import type { PerformedAction, Run } from "../../../state/run.ts";
import { formatTurnKey, type Turn } from "../../../state/turn.ts";

/** The text between two actions, or one action. */
interface LessonPart {
  readonly id: string;
  readonly text: string;
  readonly action: PerformedAction | null;
}

export interface Moment {
  readonly id: string;
  readonly run: string;
  readonly participant: string;
  readonly name: string | null;
  readonly text: string;
  readonly action: PerformedAction | null;
  /** Number of the event after which the whiteboard had this state; null if unknown. */
  readonly seq: number | null;
}

/** Split a turn at its actions. Of a later version, only the text is known. */
export function splitTurn(turn: Turn, actions: readonly PerformedAction[]): readonly LessonPart[] {
  const own = isRevised(turn) ? [] : actions.filter((one) => formatTurnKey(one) === turn.key);
  const found: LessonPart[] = [];
  let start = 0;
  const addText = (end: number) => {
    const text = turn.text.slice(start, end);
    if (text.trim()) found.push({ id: `${turn.run}/${turn.key}/${start}`, text: text.trim(), action: null });
    start = Math.max(start, end);
  };
  for (const action of own) {
    addText(action.textOffset);
    found.push({ id: action.id, text: "", action });
  }
  addText(turn.text.length);
  return found;
}

/** Whether the shown version is not the one of the live lesson. */
export const isRevised = (turn: Turn): boolean => turn.version > 1;

/** List all moments. A run without events has only its text. */
export function lessonMoments(runs: readonly Run[]): readonly Moment[] {
  return runs.flatMap(runMoments);
}

function runMoments(run: Run): readonly Moment[] {
  let seq: number | null = run.lastSeq ? 0 : null;
  return run.turns.filter(isIncluded).flatMap((turn) =>
    splitTurn(turn, run.actions).map(({ id, text, action }) => {
      if (action) seq = action.seq;
      return { id, run: run.id, participant: turn.participant, name: turn.name, text, action, seq };
    }),
  );
}

/** Failed turns have no moments. */
const isIncluded = (turn: Turn): boolean => turn.state !== "failed";

/** Duration of a moment in playback, in milliseconds. */
export function momentDurationMs(moment: Moment): number {
  return moment.action ? 1100 : Math.min(1200 + moment.text.length * 35, 6000);
}
