/** State of an open discussion, reduced from its stored pages and the events since. */

import type { StreamEvent } from "../api/event-stream.ts";
import type { Discussion, DiscussionDetail, Message, Run as ServerRun } from "../api/types.ts";
import {
  emptyRun,
  resetRun,
  isLiveRun,
  withMessages,
  withNotice,
  withServerRun,
  applyRunEvent,
  type Run,
} from "./run.ts";
import { emptyTurn, withVersion, type Turn } from "./turn.ts";

export interface OpenDiscussion {
  readonly id: string;
  readonly discussion: Discussion | null;
  /** In display order. */
  readonly runs: readonly Run[];
  /** Cursor of the page before the oldest message; null if there is none. */
  readonly olderCursor: number | null;
  readonly isDeleted: boolean;
}

const MAX_RUN_CURSORS = 20; // maximum number of run cursors in a subscription

export function emptyDiscussion(id: string): OpenDiscussion {
  return { id, discussion: null, runs: [], olderCursor: null, isDeleted: false };
}

/** Merge the newest page, on opening or after a change. */
export function withPage(open: OpenDiscussion, page: DiscussionDetail): OpenDiscussion {
  const isGap = hasGap(open, page);
  const runs = withNotices(groupByRun(isGap ? open.runs.filter(isLiveRun) : open.runs, page.messages), page.notices);
  const before = isGap || open.discussion === null ? page.before : open.olderCursor;
  return withServerRuns({ ...open, runs, olderCursor: before, discussion: page.discussion }, page.runs);
}

/** Return whether messages are missing between the known ones and the newest page. */
function hasGap({ runs }: OpenDiscussion, page: DiscussionDetail): boolean {
  const known = new Set(
    runs.filter((run) => run.userMessage || run.turns.some((turn) => turn.message)).map((run) => run.id),
  );
  return page.before !== null && known.size > 0 && !page.messages.some((one) => known.has(messageRunId(one)));
}

/** Merge the page before the oldest known message. */
export function withOlderPage(open: OpenDiscussion, page: DiscussionDetail): OpenDiscussion {
  const known = new Map(open.runs.map((run) => [run.id, run]));
  const older = withNotices(groupByRun([], page.messages), page.notices).map((run) => {
    const newer = known.get(run.id);
    known.delete(run.id);
    return newer ? mergeRuns(run, newer) : run;
  });
  const runs = [...older, ...open.runs.filter((run) => known.has(run.id))];
  return { ...open, runs, olderCursor: page.before };
}

/** Merge the parts of a run that spans two pages. Newer data wins. */
function mergeRuns(older: Run, newer: Run): Run {
  const keys = new Set(newer.turns.map((turn) => turn.key));
  const turns = [...older.turns.filter((turn) => !keys.has(turn.key)), ...newer.turns];
  const notices = [...older.notices, ...older.referenceSummaries];
  return notices.reduce(withNotice, { ...newer, userMessage: newer.userMessage ?? older.userMessage, turns });
}

function withNotices(runs: readonly Run[], notices: DiscussionDetail["notices"]): readonly Run[] {
  return runs.map((run) => notices.filter((event) => event.run === run.id).reduce(withNotice, run));
}

/** Merge one changed message. */
export function withMessage(open: OpenDiscussion, message: Message): OpenDiscussion {
  return { ...open, runs: groupByRun(open.runs, [message]) };
}

/** Reduce a list of events. */
export function applyEvents(open: OpenDiscussion, events: readonly StreamEvent[]): OpenDiscussion {
  return events.reduce(applyEvent, open);
}

function applyEvent(open: OpenDiscussion, event: StreamEvent): OpenDiscussion {
  switch (event.type) {
    case "activity":
      return withServerRuns(
        open,
        event.runs.filter((run) => run.discussion === open.id),
      );
    case "discussion_changed":
      if (event.discussion.id !== open.id) return open;
      return withServerRuns({ ...open, discussion: event.discussion }, event.runs);
    case "discussion_deleted":
      return event.id === open.id ? { ...open, isDeleted: true } : open;
    case "resync":
      return updateRun(open, event.run, resetRun);
    default:
      return withRegeneration(
        updateRun(open, event.run, (run) => applyRunEvent(run, event)),
        event.run,
      );
  }
}

const messageRunId = (message: Message): string => message.run ?? message.id;

/** Assign messages to their runs, which stay in order of creation. */
function groupByRun(runs: readonly Run[], messages: readonly Message[]): readonly Run[] {
  const byRun = new Map<string, Message[]>();
  for (const message of messages) {
    const id = messageRunId(message);
    byRun.set(id, [...(byRun.get(id) ?? []), message]);
  }
  const known = new Map(runs.map((run) => [run.id, run]));
  for (const [id, some] of byRun) known.set(id, withMessages(known.get(id) ?? emptyRun(id), some));
  return [...known.values()].sort(compareRuns);
}

/** Ids sort by creation time. */
function compareRuns(a: Run, b: Run): number {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

function withServerRuns(open: OpenDiscussion, serverRuns: readonly ServerRun[]): OpenDiscussion {
  return serverRuns.reduce(
    (found, stored) =>
      withRegeneration(
        updateRun(found, stored.id, (run) => withServerRun(run, stored)),
        stored.id,
      ),
    open,
  );
}

function updateRun(open: OpenDiscussion, id: string, change: (run: Run) => Run): OpenDiscussion {
  const place = open.runs.findIndex((run) => run.id === id);
  const before = open.runs[place];
  const oldest = open.runs[0];
  if (!before && open.olderCursor !== null && oldest && id < oldest.id) return open; // it belongs to an older page
  if (!before) return { ...open, runs: [...open.runs, change(emptyRun(id))].sort(compareRuns) };
  const after = change(before);
  return after === before ? open : { ...open, runs: open.runs.with(place, after) };
}

/** Cursors for a reconnect: the last event number of every live run. */
export function eventCursors(open: OpenDiscussion): readonly string[] {
  return open.runs
    .filter(isLiveRun)
    .slice(-MAX_RUN_CURSORS)
    .map((run) => `${run.id}:${run.lastSeq}`);
}

export const hasLiveRun = (open: OpenDiscussion): boolean => open.runs.some(isLiveRun);

/** Show a regeneration, which is a run of its own, in the turn of the answer that it regenerates. */
function withRegeneration(open: OpenDiscussion, id: string): OpenDiscussion {
  const regenerationRun = open.runs.find((run) => run.id === id);
  if (!regenerationRun?.regenerate) return open;
  const place = open.runs.findIndex((run) => run.turns.some((turn) => turn.message === regenerationRun.regenerate));
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
