/** The list of discussions: a pure function of the pages that were read and the changes that were heard. */

import type { Discussion, Page, Run } from "../wire.ts";
import type { Heard } from "./discussion.ts";

export interface Shelf {
  readonly discussions: readonly Discussion[];
  readonly next: string | null;
  /** In which of them somebody is speaking. */
  readonly speaking: ReadonlySet<string>;
}

export const EMPTY: Shelf = { discussions: [], next: null, speaking: new Set() };

/** Take in a page: the first one anew, and every further one after those that are there. */
export function withShelfPage(shelf: Shelf, page: Page, more: boolean): Shelf {
  const known = more ? shelf.discussions : [];
  const ids = new Set(known.map((one) => one.id));
  const discussions = [...known, ...page.discussions.filter((one) => !ids.has(one.id))];
  return { ...shelf, discussions, next: page.next };
}

/** Say where a search found something, if one cannot see it in the title: every word sought begins some word there. */
export function foundWhere({ title, status }: Pick<Discussion, "title" | "status">, sought: string): string {
  const there = wordsIn(title);
  const isInTitle = wordsIn(sought).every((word) => there.some((one) => one.startsWith(word)));
  return [isInTitle ? "" : "in a message", status === "archived" ? "archived" : ""]
    .filter(Boolean)
    .join(" · ");
}

function wordsIn(text: string): readonly string[] {
  return (
    text
      .normalize("NFKD")
      .replace(/\p{M}/gu, "")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

/** Hear what changed; `belongs` says whether a discussion that was not there is to be shown. */
export function shelve(shelf: Shelf, event: Heard, belongs: (one: Discussion) => boolean): Shelf {
  switch (event.type) {
    case "activity":
      return { ...shelf, speaking: new Set(event.runs.map((run) => run.discussion)) };
    case "discussion_deleted":
      return { ...shelf, discussions: shelf.discussions.filter((one) => one.id !== event.id) };
    case "discussion_changed":
      return changed(shelf, event.discussion, event.runs, belongs);
    default:
      return shelf;
  }
}

function changed(
  shelf: Shelf,
  discussion: Discussion,
  runs: readonly Run[],
  belongs: (one: Discussion) => boolean,
): Shelf {
  const others = shelf.discussions.filter((one) => one.id !== discussion.id);
  const discussions = belongs(discussion)
    ? [...others, discussion].sort((a, b) => b.updated_at - a.updated_at)
    : others;
  const speaking = new Set(shelf.speaking);
  if (runs.length) speaking.add(discussion.id);
  else speaking.delete(discussion.id);
  return { ...shelf, discussions, speaking };
}
