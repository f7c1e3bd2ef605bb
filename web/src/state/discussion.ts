/** The state of an open discussion: a pure function of what was read of it and what was heard since. */

import type { StreamEvent } from "../api/event-stream.ts";
import type { Discussion, DiscussionRead, Message, Run as Stored } from "../api/types.ts";
import { renewing } from "./regeneration.ts";
import { emptyRun, forgotten, goesOn, read, reminded, standing, told, type Run } from "./run.ts";

export interface Open {
  readonly id: string;
  readonly discussion: Discussion | null;
  /** In the order in which they are shown. */
  readonly runs: readonly Run[];
  /** Where the page before the oldest message begins; null where there is none. */
  readonly before: number | null;
  readonly gone: boolean;
}

const MOST = 20; // runs that the server lets one name

export function opened(id: string): Open {
  return { id, discussion: null, runs: [], before: null, gone: false };
}

/** Take in the newest page, when the discussion is opened, or again after something has changed. */
export function withPage(open: Open, page: DiscussionRead): Open {
  const isGap = isApart(open, page);
  const runs = withTold(grouped(isGap ? open.runs.filter(goesOn) : open.runs, page.messages), page.told);
  const before = isGap || open.discussion === null ? page.before : open.before;
  return withRuns({ ...open, runs, before, discussion: page.discussion }, page.runs);
}

/** Tell whether so much came since that there is a gap between what is known and the newest page. */
function isApart({ runs }: Open, page: DiscussionRead): boolean {
  const known = new Set(
    runs.filter((run) => run.asked || run.turns.some((turn) => turn.message)).map((run) => run.id),
  );
  return page.before !== null && known.size > 0 && !page.messages.some((one) => known.has(runOf(one)));
}

/** Take in the page before what is there. */
export function withOlder(open: Open, page: DiscussionRead): Open {
  const known = new Map(open.runs.map((run) => [run.id, run]));
  const older = withTold(grouped([], page.messages), page.told).map((run) => {
    const newer = known.get(run.id);
    known.delete(run.id);
    return newer ? joined(run, newer) : run;
  });
  const runs = [...older, ...open.runs.filter((run) => known.has(run.id))];
  return { ...open, runs, before: page.before };
}

/** Put the parts of a run together that are on two pages; what is newer counts. */
function joined(older: Run, newer: Run): Run {
  const keys = new Set(newer.turns.map((turn) => turn.key));
  const turns = [...older.turns.filter((turn) => !keys.has(turn.key)), ...newer.turns];
  const told = [...older.notices, ...older.recaps];
  return told.reduce(reminded, { ...newer, asked: newer.asked ?? older.asked, turns });
}

function withTold(runs: readonly Run[], told: DiscussionRead["told"]): readonly Run[] {
  return runs.map((run) => told.filter((event) => event.run === run.id).reduce(reminded, run));
}

/** Take in one message that was changed. */
export function withMessage(open: Open, message: Message): Open {
  return { ...open, runs: grouped(open.runs, [message]) };
}

/** Hear one thing after the other. */
export function hear(open: Open, events: readonly StreamEvent[]): Open {
  return events.reduce(hearOne, open);
}

function hearOne(open: Open, event: StreamEvent): Open {
  switch (event.type) {
    case "activity":
      return withRuns(
        open,
        event.runs.filter((run) => run.discussion === open.id),
      );
    case "discussion_changed":
      if (event.discussion.id !== open.id) return open;
      return withRuns({ ...open, discussion: event.discussion }, event.runs);
    case "discussion_deleted":
      return event.id === open.id ? { ...open, gone: true } : open;
    case "resync":
      return withRun(open, event.run, forgotten);
    default:
      return renewing(
        withRun(open, event.run, (run) => told(run, event)),
        event.run,
      );
  }
}

const runOf = (message: Message): string => message.run ?? message.id;

/** Put messages to their runs, which stay in the order in which they began. */
function grouped(runs: readonly Run[], messages: readonly Message[]): readonly Run[] {
  const byRun = new Map<string, Message[]>();
  for (const message of messages) {
    const id = runOf(message);
    byRun.set(id, [...(byRun.get(id) ?? []), message]);
  }
  const known = new Map(runs.map((run) => [run.id, run]));
  for (const [id, some] of byRun) known.set(id, read(known.get(id) ?? emptyRun(id), some));
  return [...known.values()].sort(inOrder);
}

/** Ids tell when something was made. */
function inOrder(a: Run, b: Run): number {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

function withRuns(open: Open, live: readonly Stored[]): Open {
  return live.reduce(
    (found, stored) =>
      renewing(
        withRun(found, stored.id, (run) => standing(run, stored)),
        stored.id,
      ),
    open,
  );
}

function withRun(open: Open, id: string, change: (run: Run) => Run): Open {
  const place = open.runs.findIndex((run) => run.id === id);
  const before = open.runs[place];
  const oldest = open.runs[0];
  if (!before && open.before !== null && oldest && id < oldest.id) return open; // it is on a page before
  if (!before) return { ...open, runs: [...open.runs, change(emptyRun(id))].sort(inOrder) };
  const after = change(before);
  return after === before ? open : { ...open, runs: open.runs.with(place, after) };
}

/** What is to be said again when the connection comes back: the newest number of every run that goes on. */
export function positions(open: Open): readonly string[] {
  return open.runs
    .filter(goesOn)
    .slice(-MOST)
    .map((run) => `${run.id}:${run.heard}`);
}

export const isSpeaking = (open: Open): boolean => open.runs.some(goesOn);
