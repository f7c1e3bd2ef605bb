/** Who is to speak and has not begun: they stand there from the start, so that nothing jumps. */

import type { Discussion } from "../api/types.ts";
import { isLiveRun, type Run } from "./run.ts";
import { emptyTurn, formatTurnKey, type Turn } from "./turn.ts";

/** The turns of a stage, with those that are still to come. */
export function withWaitingTurns(
  turns: readonly Turn[],
  run: Run,
  discussion: Discussion,
  { stage, round }: { stage: string; round: number } = { stage: "answer", round: 0 },
): readonly Turn[] {
  // To whom it was said is known by what was said.
  if (!isLiveRun(run) || !run.userMessage) return turns;
  const known = new Set(turns.map((turn) => turn.key));
  const missing = expectedSpeakers(run, discussion)
    .map((participant) => ({ participant, stage, round }))
    .filter((seat) => !known.has(formatTurnKey(seat)));
  return missing.length ? [...turns, ...missing.map((seat) => emptyTurn(run.id, seat, 0))] : turns;
}

/** Everybody at the table who is spoken to. */
function expectedSpeakers(run: Run, discussion: Discussion): readonly string[] {
  const table = run.participants.length ? run.participants : discussion.participants;
  const audience = run.userMessage?.audience;
  const spoken = table.filter((one) => one.active !== false && (!audience || audience.includes(one.id)));
  return (run.mode === "single" ? spoken.slice(0, 1) : spoken).map((one) => one.id);
}
