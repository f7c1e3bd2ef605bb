/** The discussion that is being begun. It outlives the view and the page, until it is sent. */

import { callApi, ApiError } from "../../api/client.ts";
import { IdempotentSend } from "../../stores/idempotent-send.ts";
import { Uploads } from "../../stores/uploads.svelte.ts";
import { persisted } from "../../stores/storage.ts";
import type { Discussion, Persona } from "../../api/types.ts";
import { modelStore } from "../../stores/models.svelte.ts";
import { catalog } from "../../stores/catalog.svelte.ts";
import {
  toDiscussionDraft,
  groupErrors,
  type NewDiscussionValues,
  type DraftErrors,
} from "../participants/draft.ts";
import { readyModels } from "../../state/model-offers.ts";
import { buildFirstTable } from "./samples.ts";
import { toasts } from "../../stores/toasts.svelte.ts";
import {
  EMPTY_TABLE,
  validateTable,
  MAX_PARTICIPANTS,
  newParticipant,
  restoreTable,
  withoutParticipant,
  withParticipant,
  type Table,
} from "../participants/setup.ts";

const NEW_DRAFT: NewDiscussionValues = {
  message: "",
  table: EMPTY_TABLE,
  project: null,
  language: null,
  cap: null,
  files: [],
};
const savedDraft = persisted<NewDiscussionValues>("start", NEW_DRAFT);

class NewDiscussionDraft {
  draft = $state.raw<NewDiscussionValues>(restoreDraft(savedDraft.read()));
  errors = $state.raw<DraftErrors>({});
  isSending = $state(false);
  /** What is attached; what of it has arrived becomes part of the draft. */
  readonly uploads = new Uploads();
  #idempotentSend = new IdempotentSend("start");

  constructor() {
    this.uploads.replaceAll(this.draft.files);
  }

  get table(): Table {
    return this.draft.table;
  }

  set table(table: Table) {
    this.update({ table });
    this.errors = {};
  }

  update(some: Partial<NewDiscussionValues>): void {
    this.draft = { ...this.draft, ...some };
    savedDraft.write(this.draft);
    if (!this.draft.message) this.#idempotentSend.reset();
    if (some.message) this.errors = { ...this.errors, question: undefined };
  }

  /** Lay a first table with what can be asked, where nobody has laid one. */
  setFirstTable(): void {
    if (this.table.seats.length || !modelStore.offers) return;
    const first = buildFirstTable(modelStore.offers);
    if (first) this.update({ table: first });
  }

  /** Give somebody a seat who was just made up, through a model that is ready; where that cannot be, say why. */
  addPersona(persona: Persona): void {
    catalog.personas = [persona, ...catalog.personas.filter((one) => one.id !== persona.id)];
    const model = readyModels(modelStore.offers ?? [])[0] ?? this.table.seats[0]?.model;
    if (!model) return toasts.show(`No model is ready to speak for ${persona.name}.`, { isError: true });
    if (this.table.seats.length >= MAX_PARTICIPANTS)
      return toasts.show(
        `All ${MAX_PARTICIPANTS} seats are taken: ${persona.name} is a persona now, but has no seat.`,
        {
          isError: true,
        },
      );
    this.table = withParticipant(this.table, newParticipant(model, { persona: persona.id }));
  }

  /** Take back whom nobody wanted after all. */
  removePersona(persona: Persona): void {
    const gone = this.table.seats.filter((one) => one.persona === persona.id);
    this.table = gone.reduce((table, one) => withoutParticipant(table, one.key), this.table);
    catalog.personas = catalog.personas.filter((one) => one.id !== persona.id);
  }

  /** Begin the discussion; where that fails, say beside what it is about why. */
  async send(): Promise<Discussion | null> {
    if (this.isSending) return null;
    this.errors = this.#validate();
    if (Object.keys(this.errors).length) return null;
    this.isSending = true;
    try {
      const body = toDiscussionDraft(this.draft, catalog.personas);
      const started = await this.#idempotentSend.send(body, (key) =>
        callApi("POST /api/discussions", { body, idempotencyKey: key }),
      );
      const { message, files } = body;
      this.update({ message: this.draft.message.trim() === message.trim() ? "" : this.draft.message });
      this.uploads.removeSent(files ?? []);
      this.update({ files: this.uploads.storedFiles });
      return started.discussion;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.errors = groupErrors(error.message, error.errors);
      return null;
    } finally {
      this.isSending = false;
    }
  }

  #validate(): DraftErrors {
    if (!this.draft.message.trim()) return { question: "Write a question first." };
    if (this.uploads.isUploading) return { question: "Wait a moment: a file is still on its way." };
    if (this.uploads.hasErrors)
      return { question: "A file did not arrive: take it away, or attach it again." };
    const lacks = validateTable(this.table);
    return lacks ? { table: lacks } : {};
  }
}

/** A draft may have been kept by an older page, which knew less. */
function restoreDraft(draft: Partial<NewDiscussionValues>): NewDiscussionValues {
  return { ...NEW_DRAFT, ...draft, table: restoreTable(draft.table) };
}

export const newDiscussionDraft = new NewDiscussionDraft();
