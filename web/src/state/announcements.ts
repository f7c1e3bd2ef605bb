/** What is said aloud to whoever does not see the page: few words, and only when something has come to an end. */

import type { Discussion } from "../api/types.ts";
import { person } from "./participants.ts";
import { goesOn, type Run } from "./run.ts";
import { isAnswered, isLive, questions, type Turn } from "./turn.ts";

/** Say how the newest run stands; the same words as long as nothing begins or ends. */
export function announcement(run: Run | undefined, discussion: Discussion): string {
  if (!run || run.turns.length === 0) return "";
  const name = (turn: Turn) => person(discussion, turn.participant, turn.name).name;
  const who = (is: (turn: Turn) => boolean) => run.turns.filter(is).map(name);
  const stopped = who((turn) => turn.state === "stopped" || turn.state === "interrupted");
  const cut = stopped.length ? `${listed(stopped)} ${were(stopped)} stopped.` : "";
  if (goesOn(run)) {
    const speaking = who(isLive);
    const asking = run.turns.flatMap((turn) =>
      questions(turn).map((call) => `${name(turn)} asks whether it may call ${call.name}.`),
    );
    return joined(...asking, cut, speaking.length ? `${listed(speaking)} ${are(speaking)} speaking.` : "");
  }
  const failed = who((turn) => turn.state === "failed");
  const answers = run.turns.filter(isAnswered).length;
  const said = answers === 1 ? "One answer is ready." : `${answers} answers are ready.`;
  return joined(said, cut, failed.length ? `${listed(failed)} failed.` : "");
}

const joined = (...sentences: readonly string[]): string => sentences.filter(Boolean).join(" ");
const are = (names: readonly string[]): string => (new Set(names).size > 1 ? "are" : "is");
const were = (names: readonly string[]): string => (new Set(names).size > 1 ? "were" : "was");

function listed(names: readonly string[]): string {
  const all = [...new Set(names)];
  return all.length > 3 ? `${all.length} voices` : new Intl.ListFormat("en").format(all);
}
