/** Screen reader announcements: short, and only when something ended. */

import type { Discussion } from "../api/types.ts";
import { participantView } from "./participants.ts";
import { isLiveRun, type Run } from "./run.ts";
import { isAnswered, isLiveTurn, pendingApprovals, type Turn } from "./turn.ts";

/** Describe the newest run. The text stays the same until a turn starts or ends. */
export function runAnnouncement(run: Run | undefined, discussion: Discussion): string {
  if (!run || run.turns.length === 0) return "";
  const name = (turn: Turn) => participantView(discussion, turn.participant, turn.name).name;
  const who = (is: (turn: Turn) => boolean) => run.turns.filter(is).map(name);
  const stopped = who((turn) => turn.state === "stopped" || turn.state === "interrupted");
  const cut = stopped.length ? `${formatNames(stopped)} ${wasOrWere(stopped)} stopped.` : "";
  if (isLiveRun(run)) {
    const speaking = who(isLiveTurn);
    const asking = run.turns.flatMap((turn) =>
      pendingApprovals(turn).map((call) => `${name(turn)} needs approval to call ${call.name}.`),
    );
    return joinSentences(
      ...asking,
      cut,
      speaking.length ? `${formatNames(speaking)} ${isOrAre(speaking)} speaking.` : "",
    );
  }
  const failed = who((turn) => turn.state === "failed");
  const answers = run.turns.filter(isAnswered).length;
  const ready = answers === 1 ? "One answer is ready." : `${answers} answers are ready.`;
  return joinSentences(ready, cut, failed.length ? `${formatNames(failed)} failed.` : "");
}

const joinSentences = (...sentences: readonly string[]): string => sentences.filter(Boolean).join(" ");
const isOrAre = (names: readonly string[]): string => (new Set(names).size > 1 ? "are" : "is");
const wasOrWere = (names: readonly string[]): string => (new Set(names).size > 1 ? "were" : "was");

function formatNames(names: readonly string[]): string {
  const all = [...new Set(names)];
  return all.length > 3 ? `${all.length} participants` : new Intl.ListFormat("en").format(all);
}
