/** State of the discussion list, reduced from loaded pages and events. */

import type { Change, Discussion, DiscussionChanged, SearchHit, DiscussionPage, Run } from "../api/types.ts";
import type { StreamEvent } from "../api/event-stream.ts";

export interface DiscussionList {
  readonly discussions: readonly Discussion[];
  readonly next: string | null;
  /** Search matches in messages; a match in the title alone has none. */
  readonly hits: readonly SearchHit[];
  /** Discussions with a live run. */
  readonly activeIds: ReadonlySet<string>;
  /** Discussions with a tool call that waits for approval. */
  readonly awaitingApprovalIds: ReadonlySet<string>;
}

export const EMPTY_LIST: DiscussionList = {
  discussions: [],
  next: null,
  hits: [],
  activeIds: new Set(),
  awaitingApprovalIds: new Set(),
};

/** Filter of the list: search results, or all with a status. */
export interface ListFilter {
  readonly q: string;
  readonly status: Discussion["status"];
}

/** Merge a reloaded first page. Later pages stay if there is no gap between them. */
export function withFirstPage(list: DiscussionList, page: DiscussionPage): DiscussionList {
  const last = page.discussions.at(-1);
  const place = list.discussions.findIndex((one) => one.id === last?.id && one.updated_at === last.updated_at);
  if (page.next === null || place < 0 || place === list.discussions.length - 1) return { ...list, ...page };
  const further = { discussions: list.discussions.slice(place + 1), next: list.next, hits: list.hits };
  return withNextPage({ ...list, ...page }, further);
}

/** Append a page. */
export function withNextPage(list: DiscussionList, page: DiscussionPage): DiscussionList {
  const ids = new Set(list.discussions.map((one) => one.id));
  const discussions = [...list.discussions, ...page.discussions.filter((one) => !ids.has(one.id))];
  const isFurther = (hit: SearchHit) => !ids.has(hit.discussion);
  return { ...list, discussions, next: page.next, hits: [...list.hits, ...page.hits.filter(isFurther)] };
}

/** Reduce a list of events. */
export function applyListEvents(
  list: DiscussionList,
  events: readonly StreamEvent[],
  filter: ListFilter,
): DiscussionList {
  return events.reduce((before, event) => applyListEvent(before, event, filter), list);
}

/** Return whether an event changes the list. */
export function isListEvent(event: StreamEvent): event is Change {
  return ["activity", "discussion_changed", "discussion_deleted"].includes(event.type);
}

function applyListEvent(list: DiscussionList, event: StreamEvent, filter: ListFilter): DiscussionList {
  switch (event.type) {
    case "activity":
      return {
        ...list,
        activeIds: discussionIds(event.runs),
        awaitingApprovalIds: discussionIds(event.runs.filter(isRunIn(event.awaiting_approval))),
      };
    case "discussion_deleted":
      return { ...list, discussions: list.discussions.filter((one) => one.id !== event.id) };
    case "discussion_changed":
      return withChangedDiscussion(list, event, filter);
    default:
      return list;
  }
}

const discussionIds = (runs: readonly Run[]) => new Set(runs.map((run) => run.discussion));
const isRunIn = (ids: readonly string[]) => (run: Run) => ids.includes(run.id);

function withChangedDiscussion(list: DiscussionList, event: DiscussionChanged, filter: ListFilter): DiscussionList {
  const { discussion } = event;
  const others = list.discussions.filter((one) => one.id !== discussion.id);
  // Only the server knows whether a search matches a changed discussion. Results stay as they are.
  const isFound = others.length < list.discussions.length;
  const belongs = filter.q ? isFound : discussion.status === filter.status;
  const discussions = belongs ? [...others, discussion].sort((a, b) => b.updated_at - a.updated_at) : others;
  return {
    ...list,
    discussions,
    activeIds: withMembership(list.activeIds, discussion.id, event.runs.length > 0),
    awaitingApprovalIds: withMembership(list.awaitingApprovalIds, discussion.id, event.awaiting_approval.length > 0),
  };
}

function withMembership(before: ReadonlySet<string>, id: string, isSo: boolean): ReadonlySet<string> {
  const others = [...before].filter((one) => one !== id);
  return new Set(isSo ? [...others, id] : others);
}
