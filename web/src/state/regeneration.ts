/** An answer that is given anew is a run of its own; it is shown in the card of the answer that it renews. */

import type { Open } from "./discussion.ts";
import { goesOn, type Run } from "./run.ts";
import { fresh, renewed, type Turn } from "./turn.ts";

/** Show how a run stands, if it makes another version of an answer, in the turn of that answer. */
export function renewing(open: Open, id: string): Open {
  const again = open.runs.find((run) => run.id === id);
  if (!again?.again) return open;
  const place = open.runs.findIndex((run) => run.turns.some((turn) => turn.message === again.again));
  const holder = open.runs[place];
  if (!holder) return open;
  const turns = holder.turns.map((turn) => (turn.message === again.again ? shown(turn, again) : turn));
  const isSame = turns.every((turn, at) => turn === holder.turns[at]);
  return isSame ? open : { ...open, runs: open.runs.with(place, { ...holder, turns }) };
}

function shown(turn: Turn, again: Run): Turn {
  const version = again.turns[0];
  if (!version) return { ...turn, renewal: goesOn(again) ? fresh(again.id, turn, turn.at) : null };
  if (turn.renewal === version) return turn;
  // That it ended is heard twice, by its turn and by its run, and it may have been read already.
  const isMade = version.state === "completed";
  if (isMade && turn.text !== version.text) return renewed(turn, version);
  const isOver = isMade || version.state === "stopped";
  return isOver && !turn.renewal ? turn : { ...turn, renewal: isOver ? null : version };
}
