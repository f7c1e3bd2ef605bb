/** What is changed of a discussion between messages: only what is different from what it was. */

import type { Discussion, DiscussionChange, Persona } from "../../api/types.ts";
import { laid, tableOf, type Table } from "./setup.ts";

export interface Changed {
  readonly table: Table;
  readonly project: string | null;
  readonly language: string | null;
  readonly model: string | null;
}

export function changedOf(discussion: Discussion): Changed {
  const { project, language, model } = discussion;
  return { table: tableOf(discussion), project, language, model };
}

/** Write what the server has to be told, and nothing that stays; an empty change is no change. */
export function changeOf(
  before: Discussion,
  { table, project, language, model }: Changed,
  personas: readonly Persona[],
): DiscussionChange {
  const was = laid(tableOf(before), personas);
  const now = laid(table, personas);
  const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
  const differing = Object.entries(now).filter(
    // The rules of a mode that is left stay as they are, for whoever comes back to it.
    ([name, value]) => !same(value, was[name as keyof typeof was]) && !(value === null && name !== "clerk"),
  );
  return {
    ...(Object.fromEntries(differing) as DiscussionChange),
    ...(project === before.project ? {} : { project }),
    ...(model === before.model ? {} : { model }),
    ...(language && language !== before.language ? { language } : {}),
  };
}
