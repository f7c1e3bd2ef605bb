/** A regeneration is a run of its own. It is shown in the card of the answer that it regenerates. */

import type { OpenDiscussion } from "./discussion.ts";
import { isLiveRun, type Run } from "./run.ts";
import { emptyTurn, withVersion, type Turn } from "./turn.ts";

/** Show a regeneration's progress in the turn of the answer. */
export function withRegeneration(open: OpenDiscussion, id: string): OpenDiscussion {
  const regenerationRun = open.runs.find((run) => run.id === id);
  if (!regenerationRun?.regenerate) return open;
  const place = open.runs.findIndex((run) =>
    run.turns.some((turn) => turn.message === regenerationRun.regenerate),
  );
  const holder = open.runs[place];
  if (!holder) return open;
  const turns = holder.turns.map((turn) =>
    turn.message === regenerationRun.regenerate ? applyRegeneration(turn, regenerationRun) : turn,
  );
  const isSame = turns.every((turn, at) => turn === holder.turns[at]);
  return isSame ? open : { ...open, runs: open.runs.with(place, { ...holder, turns }) };
}

function applyRegeneration(turn: Turn, regenerationRun: Run): Turn {
  const version = regenerationRun.turns[0];
  if (!version)
    return {
      ...turn,
      regeneration: isLiveRun(regenerationRun) ? emptyTurn(regenerationRun.id, turn, turn.at) : null,
    };
  if (turn.regeneration === version) return turn;
  // The end arrives twice, for the turn and for the run, and may already be loaded.
  const isMade = version.state === "completed";
  if (isMade && turn.text !== version.text) return withVersion(turn, version);
  const isOver = isMade || version.state === "stopped";
  return isOver && !turn.regeneration ? turn : { ...turn, regeneration: isOver ? null : version };
}
