/** What kind of answer a run is, so that it is shown as what it is: also where only its messages are known. */

import type { Discussion } from "../api/types.ts";
import type { Run } from "./run.ts";

type Kind = "answers" | "rounds" | "debate" | "advice" | "lesson";

const BY_STAGE: Record<string, Kind> = {
  initial: "debate",
  debate: "debate",
  round: "rounds",
  continue: "rounds",
  turn: "lesson",
  cross_talk: "advice",
};
const BY_MODE: Record<string, Kind> = {
  debate: "debate",
  consensus: "rounds",
  continue: "rounds",
  advisors: "advice",
  directed: "lesson",
};

export function kindOf(run: Run, discussion: Discussion): Kind {
  const staged = run.turns.map((turn) => BY_STAGE[turn.stage]).find(Boolean);
  if (staged) return staged;
  const mode = run.mode ?? (run.turns.length === 0 || discussion.mode === "advisors" ? discussion.mode : "");
  return BY_MODE[mode] ?? "answers";
}
