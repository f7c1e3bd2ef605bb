/** The state of an open discussion: a pure function of what was read of it and what was heard since. */

import type { Change, Discussion, DiscussionRead, Event, Message, Resync, Run as Stored } from "../wire.ts";
import { renewing } from "./renewal.ts";
import { emptyRun, goesOn, read, standing, told, type Run } from "./run.ts";

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

export type Heard = Event | Change | Resync;

export function opened(id: string): Open {
  return { id, discussion: null, runs: [], before: null, gone: false };
}

/** Take in the newest page, when the discussion is opened, or again after something has changed. */
export function withPage(open: Open, page: DiscussionRead): Open {
  const first = open.discussion === null;
  const runs = grouped(open.runs, page.messages);
  return {
    ...withRuns({ ...open, runs }, page.runs),
    discussion: page.discussion,
    before: first ? page.before : open.before,
  };
}

/** Take in the page before what is there. */
export function withOlder(open: Open, page: DiscussionRead): Open {
  const known = new Map(open.runs.map((run) => [run.id, run]));
  const older = grouped([], page.messages).map((run) => {
    const newer = known.get(run.id);
    known.delete(run.id);
    return newer ? { ...newer, asked: newer.asked ?? run.asked, turns: [...run.turns, ...newer.turns] } : run;
  });
  return { ...open, runs: [...older, ...open.runs.filter((run) => known.has(run.id))], before: page.before };
}

/** Take in one message that was changed. */
export function withMessage(open: Open, message: Message): Open {
  return { ...open, runs: grouped(open.runs, [message]) };
}

/** Hear one thing after the other. */
export function hear(open: Open, events: readonly Heard[]): Open {
  return events.reduce(hearOne, open);
}

function hearOne(open: Open, event: Heard): Open {
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
      return open;
    default:
      return renewing(
        withRun(open, event.run, (run) => told(run, event)),
        event.run,
      );
  }
}

/** Put messages to their runs; runs are in the order of their first message, and new ones come last. */
function grouped(runs: readonly Run[], messages: readonly Message[]): readonly Run[] {
  const byRun = new Map<string, Message[]>();
  for (const message of messages) {
    const id = message.run ?? message.id;
    byRun.set(id, [...(byRun.get(id) ?? []), message]);
  }
  const known = new Map(runs.map((run) => [run.id, run]));
  for (const [id, some] of byRun) known.set(id, read(known.get(id) ?? emptyRun(id), some));
  return [...known.values()];
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
  if (!before) return { ...open, runs: [...open.runs, change(emptyRun(id))] };
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
