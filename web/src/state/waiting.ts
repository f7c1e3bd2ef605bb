/** Placeholders for turns that have not started, so that the layout does not jump. */

import type { Discussion } from "../api/types.ts";
import { modeSpec } from "./modes.ts";
import { isLiveRun, type Run } from "./run.ts";
import { emptyTurn, formatTurnKey, type Turn } from "./turn.ts";

/** The turns of a stage, including those still to come. */
export function withWaitingTurns(
  turns: readonly Turn[],
  run: Run,
  discussion: Discussion,
  { stage, round }: { stage: string; round: number } = { stage: "answer", round: 0 },
): readonly Turn[] {
  // The user message has the recipients.
  if (!isLiveRun(run) || !run.userMessage) return turns;
  const known = new Set(turns.map((turn) => turn.key));
  const missing = expectedSpeakers(run, discussion)
    .map((participant) => ({ participant, stage, round }))
    .filter((seat) => !known.has(formatTurnKey(seat)));
  return missing.length ? [...turns, ...missing.map((seat) => emptyTurn(run.id, seat, 0))] : turns;
}

/** All participants that the message is addressed to. */
function expectedSpeakers(run: Run, discussion: Discussion): readonly string[] {
  const participants = run.participants.length ? run.participants : discussion.participants;
  const recipients = run.userMessage?.visible_to;
  const addressed = participants.filter(
    (one) => one.active !== false && (!recipients || recipients.includes(one.id)),
  );
  return (modeSpec(run.mode).only_first ? addressed.slice(0, 1) : addressed).map((one) => one.id);
}
