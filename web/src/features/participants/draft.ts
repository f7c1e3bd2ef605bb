/** Draft of a new discussion: message, setup, files and limits. */

import {
  MODES,
  type DiscussionDraft,
  type FieldError,
  type Persona,
  type StoredFile,
} from "../../api/types.ts";
import { toTablePayload, type Table } from "./setup.ts";

export interface NewDiscussionValues {
  readonly message: string;
  readonly table: Table;
  readonly project: string | null;
  readonly language: string | null;
  readonly maxCostUsd: number | null;
  readonly files: readonly StoredFile[];
}

/** Convert a draft to the API. */
export function toDiscussionDraft(draft: NewDiscussionValues, personas: readonly Persona[]): DiscussionDraft {
  const { message, table, project, language, maxCostUsd, files } = draft;
  return {
    ...toTablePayload(table, personas),
    message,
    project,
    language,
    max_cost_usd: maxCostUsd,
    files: files.map((file) => file.id),
  };
}

type DraftPart = "question" | "table" | "mode" | "rules";

const PART_BY_FIELD: Record<string, DraftPart> = {
  message: "question",
  files: "question",
  participants: "table",
  mode: "mode",
  rounds: "rules",
  task_model: "rules",
  max_cost_usd: "question",
  project: "rules",
  language: "rules",
  model: "rules",
};

/** Errors by part of the page; errors of other fields are shown at the question. */
export type DraftErrors = Partial<Record<DraftPart, string>>;

export function groupErrors(words: string, errors: readonly FieldError[]): DraftErrors {
  if (errors.length === 0) return { question: words };
  const wrong: DraftErrors = {};
  for (const { field, message } of errors) {
    const name = field.split(/[.[]/, 1)[0] ?? "";
    // The options of a mode are in a field with its name.
    const part = PART_BY_FIELD[name] ?? (name in MODES ? "rules" : "question");
    const messages = [wrong[part], formatFieldError(field, message)].filter(Boolean);
    wrong[part] = messages.join(" ");
  }
  return wrong;
}

/** Prefix an error with the participant's number, and drop the field name. */
function formatFieldError(field: string, message: string): string {
  const place = /^participants\[(\d+)\]/.exec(field)?.[1];
  const words = message.charAt(0).toUpperCase() + message.slice(1);
  return place === undefined ? words : `Participant ${Number(place) + 1}: ${words}`;
}
