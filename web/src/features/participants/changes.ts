/** Changes to a discussion's settings: only the fields that differ. */

import type { Discussion, DiscussionChange, Persona } from "../../api/types.ts";
import { toSetupPayload, toSetup, type DiscussionSetup } from "./setup.ts";

export interface DiscussionSettings {
  readonly setup: DiscussionSetup;
  readonly project: string | null;
  readonly language: string | null;
  readonly model: string | null;
}

export function readSettings(discussion: Discussion): DiscussionSettings {
  const { project, language, model } = discussion;
  return { setup: toSetup(discussion), project, language, model };
}

/** Build the PATCH body. It is empty if nothing changed. */
export function buildChange(
  before: Discussion,
  { setup, project, language, model }: DiscussionSettings,
  personas: readonly Persona[],
): DiscussionChange {
  const was = toSetupPayload(toSetup(before), personas);
  const now = toSetupPayload(setup, personas);
  const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
  const differing = Object.entries(now).filter(
    // Options of the previous mode are kept, in case the user returns to it.
    ([name, value]) => !same(value, was[name as keyof typeof was]) && !(value === null && name !== "task_model"),
  );
  return {
    ...(Object.fromEntries(differing) as DiscussionChange),
    ...(project === before.project ? {} : { project }),
    ...(model === before.model ? {} : { model }),
    ...(language && language !== before.language ? { language } : {}),
  };
}
