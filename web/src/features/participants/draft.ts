/** A discussion before it begins: the question, the table, and what goes with them. */

import type { DiscussionDraft, FieldError, Persona, StoredFile } from "../../api/types.ts";
import { laid, type Table } from "./setup.ts";

export interface Draft {
  readonly message: string;
  readonly table: Table;
  readonly project: string | null;
  readonly language: string | null;
  readonly cap: number | null;
  readonly files: readonly StoredFile[];
}

/** Write a draft as the server takes it. */
export function bodyOf(draft: Draft, personas: readonly Persona[]): DiscussionDraft {
  const { message, table, project, language, cap, files } = draft;
  return { ...laid(table, personas), message, project, language, cap, files: files.map((file) => file.id) };
}

type Part = "question" | "table" | "mode" | "rules";

const PARTS: Record<string, Part> = {
  message: "question",
  files: "question",
  participants: "table",
  mode: "mode",
  rounds: "rules",
  debate: "rules",
  advisors: "rules",
  directed: "rules",
  clerk: "rules",
  cap: "question",
  project: "rules",
  language: "rules",
  model: "rules",
};

/** What is wrong, by the part of the page that it is about; what is about nothing else is about the question. */
export type Wrong = Partial<Record<Part, string>>;

export function wrongIn(words: string, errors: readonly FieldError[]): Wrong {
  if (errors.length === 0) return { question: words };
  const wrong: Wrong = {};
  for (const { field, message } of errors) {
    const part = PARTS[field.split(/[.[]/, 1)[0] ?? ""] ?? "question";
    const said = [wrong[part], sentence(field, message)].filter(Boolean);
    wrong[part] = said.join(" ");
  }
  return wrong;
}

/** Say which of several a message is about; beside its field it need not name the field. */
function sentence(field: string, message: string): string {
  const place = /^participants\[(\d+)\]/.exec(field)?.[1];
  const words = message.charAt(0).toUpperCase() + message.slice(1);
  return place === undefined ? words : `Voice ${Number(place) + 1}: ${words}`;
}
