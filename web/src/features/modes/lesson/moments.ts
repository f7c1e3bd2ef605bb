/** A lesson, moment by moment: every piece of speech and every action, in the order in which they came. */

import type { PerformedAction, Run } from "../../../state/run.ts";
import { formatTurnKey, type Turn } from "../../../state/turn.ts";

/** What was said between two actions, or one action. */
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
  /** After which event of the run the board looks as it did then; null where no event of it is known. */
  readonly seq: number | null;
}

/** Take a turn apart: what it said is cut where it did something. Of a later version only its words are known. */
export function splitTurn(turn: Turn, actions: readonly PerformedAction[]): readonly LessonPart[] {
  const own = isRevised(turn) ? [] : actions.filter((one) => formatTurnKey(one) === turn.key);
  const found: LessonPart[] = [];
  let from = 0;
  const speak = (upto: number) => {
    const text = turn.text.slice(from, upto);
    if (text.trim()) found.push({ id: `${turn.run}/${turn.key}/${from}`, text: text.trim(), action: null });
    from = Math.max(from, upto);
  };
  for (const action of own) {
    speak(action.textOffset);
    found.push({ id: action.id, text: "", action });
  }
  speak(turn.text.length);
  return found;
}

/** Whether what is shown is not what was said and done when the lesson was heard. */
export const isRevised = (turn: Turn): boolean => turn.version > 1;

/** Go through all that was said and done. A run of which nothing was heard has its words alone. */
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

/** What failed is void: it was neither said nor done. */
const isIncluded = (turn: Turn): boolean => turn.state !== "failed";

/** How long a moment is looked at when the lesson is played, in milliseconds. */
export function momentDurationMs(moment: Moment): number {
  return moment.action ? 1100 : Math.min(1200 + moment.text.length * 35, 6000);
}
