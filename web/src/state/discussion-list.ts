/** The list of discussions: a pure function of the pages that were read and the changes that were heard. */

import type { Change, Discussion, DiscussionChanged, Hit, Page, Run } from "../api/types.ts";
import type { StreamEvent } from "../api/event-stream.ts";

export interface Shelf {
  readonly discussions: readonly Discussion[];
  readonly next: string | null;
  /** Where in them a search found something, unless it was in the title alone. */
  readonly hits: readonly Hit[];
  /** In which of them somebody is speaking. */
  readonly speaking: ReadonlySet<string>;
  /** And in which of those somebody waits for a person to allow a call. */
  readonly asking: ReadonlySet<string>;
}

export const EMPTY: Shelf = { discussions: [], next: null, hits: [], speaking: new Set(), asking: new Set() };

/** Which discussions are listed: those that a search finds, or else all that have a status. */
export interface Shown {
  readonly q: string;
  readonly status: Discussion["status"];
}

/** Take in the first page, read anew; what was read after it stays where nothing can be missing between them. */
export function withFirstPage(shelf: Shelf, page: Page): Shelf {
  const last = page.discussions.at(-1);
  const place = shelf.discussions.findIndex(
    (one) => one.id === last?.id && one.updated_at === last.updated_at,
  );
  if (page.next === null || place < 0 || place === shelf.discussions.length - 1) return { ...shelf, ...page };
  const further = { discussions: shelf.discussions.slice(place + 1), next: shelf.next, hits: shelf.hits };
  return withNextPage({ ...shelf, ...page }, further);
}

/** Take in a page after those that are there. */
export function withNextPage(shelf: Shelf, page: Page): Shelf {
  const ids = new Set(shelf.discussions.map((one) => one.id));
  const discussions = [...shelf.discussions, ...page.discussions.filter((one) => !ids.has(one.id))];
  const isFurther = (hit: Hit) => !ids.has(hit.discussion);
  return { ...shelf, discussions, next: page.next, hits: [...shelf.hits, ...page.hits.filter(isFurther)] };
}

/** Hear one thing after the other that changed. */
export function shelve(shelf: Shelf, events: readonly StreamEvent[], shown: Shown): Shelf {
  return events.reduce((before, event) => shelveOne(before, event, shown), shelf);
}

/** Tell whether it is something that changes the list. */
export function isOfShelf(event: StreamEvent): event is Change {
  return ["activity", "discussion_changed", "discussion_deleted"].includes(event.type);
}

function shelveOne(shelf: Shelf, event: StreamEvent, shown: Shown): Shelf {
  switch (event.type) {
    case "activity":
      return { ...shelf, speaking: held(event.runs), asking: held(event.runs.filter(isIn(event.asking))) };
    case "discussion_deleted":
      return { ...shelf, discussions: shelf.discussions.filter((one) => one.id !== event.id) };
    case "discussion_changed":
      return changed(shelf, event, shown);
    default:
      return shelf;
  }
}

const held = (runs: readonly Run[]) => new Set(runs.map((run) => run.discussion));
const isIn = (ids: readonly string[]) => (run: Run) => ids.includes(run.id);

function changed(shelf: Shelf, event: DiscussionChanged, shown: Shown): Shelf {
  const { discussion } = event;
  const others = shelf.discussions.filter((one) => one.id !== discussion.id);
  // Whether a search finds what changed only the server knows; what it has found stays.
  const isFound = others.length < shelf.discussions.length;
  const belongs = shown.q ? isFound : discussion.status === shown.status;
  const discussions = belongs ? [...others, discussion].sort((a, b) => b.updated_at - a.updated_at) : others;
  return {
    ...shelf,
    discussions,
    speaking: marked(shelf.speaking, discussion.id, event.runs.length > 0),
    asking: marked(shelf.asking, discussion.id, event.asking.length > 0),
  };
}

function marked(before: ReadonlySet<string>, id: string, isSo: boolean): ReadonlySet<string> {
  const others = [...before].filter((one) => one !== id);
  return new Set(isSo ? [...others, id] : others);
}
