/** What is said aloud to whoever does not see the page: few words, and only when something has come to an end. */

import type { Discussion } from "../wire.ts";
import { person } from "./people.ts";
import { goesOn, type Run } from "./run.ts";
import { isAnswered, isLive, type Turn } from "./turn.ts";

/** Say how the newest run stands; the same words as long as nothing begins or ends. */
export function announcement(run: Run | undefined, discussion: Discussion): string {
  if (!run || run.turns.length === 0) return "";
  const name = (turn: Turn) => person(discussion, turn.participant, turn.name).name;
  if (goesOn(run)) {
    const speaking = run.turns.filter(isLive).map(name);
    return speaking.length ? `${listed(speaking)} ${speaking.length > 1 ? "are" : "is"} speaking.` : "";
  }
  const failed = run.turns.filter((turn) => turn.state === "failed").map(name);
  const answers = run.turns.filter(isAnswered).length;
  const said = answers === 1 ? "One answer is there." : `${answers} answers are there.`;
  return failed.length ? `${said} ${listed(failed)} failed.` : said;
}

function listed(names: readonly string[]): string {
  const all = [...new Set(names)];
  return all.length > 3 ? `${all.length} voices` : new Intl.ListFormat("en").format(all);
}
