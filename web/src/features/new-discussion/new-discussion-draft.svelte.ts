/** Draft of a new discussion. It outlives the view and a reload, until it is sent. */

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
  EMPTY_SETUP,
  validateSetup,
  MAX_PARTICIPANTS,
  newParticipant,
  restoreSetup,
  withoutParticipant,
  withParticipant,
  type NewDiscussionValues,
  type DraftErrors,
  type DiscussionSetup,
} from "../participants/setup.ts";
import { readyModels } from "../../state/model-offers.ts";
import { buildFirstSetup } from "./samples.ts";
import { toasts } from "../../stores/toasts.svelte.ts";

const NEW_DRAFT: NewDiscussionValues = {
  message: "",
  setup: EMPTY_SETUP,
  project: null,
  language: null,
  maxCostUsd: null,
  files: [],
};
const savedDraft = persisted<NewDiscussionValues>("start", NEW_DRAFT);

class NewDiscussionDraft {
  draft = $state.raw<NewDiscussionValues>(restoreDraft(savedDraft.read()));
  errors = $state.raw<DraftErrors>({});
  isSending = $state(false);
  /** Attachments; completed uploads become part of the draft. */
  readonly uploads = new Uploads();
  #idempotentSend = new IdempotentSend("start");

  constructor() {
    this.uploads.replaceAll(this.draft.files);
  }

  get setup(): DiscussionSetup {
    return this.draft.setup;
  }

  set setup(setup: DiscussionSetup) {
    this.update({ setup });
    this.errors = {};
  }

  update(some: Partial<NewDiscussionValues>): void {
    this.draft = { ...this.draft, ...some };
    savedDraft.write(this.draft);
    if (!this.draft.message) this.#idempotentSend.reset();
    if (some.message) this.errors = { ...this.errors, question: undefined };
  }

  /** Apply a first setup with the ready models, unless there is one. */
  setFirstSetup(): void {
    if (this.setup.participants.length || !modelStore.offers) return;
    const first = buildFirstSetup(modelStore.offers);
    if (first) this.update({ setup: first });
  }

  /** Add a new persona as a participant with a ready model. Shows why if that fails. */
  addPersona(persona: Persona): void {
    catalog.personas = [persona, ...catalog.personas.filter((one) => one.id !== persona.id)];
    const model = readyModels(modelStore.offers ?? [])[0] ?? this.setup.participants[0]?.model;
    if (!model) return toasts.show(`No model is ready for ${persona.name}.`, { isError: true });
    if (this.setup.participants.length >= MAX_PARTICIPANTS)
      return toasts.show(
        `The limit is ${MAX_PARTICIPANTS} participants. ${persona.name} was saved as a persona, but not added.`,
        {
          isError: true,
        },
      );
    this.setup = withParticipant(this.setup, newParticipant(model, { persona: persona.id }));
  }

  /** Remove the participant of a persona whose creation was undone. */
  removePersona(persona: Persona): void {
    const gone = this.setup.participants.filter((one) => one.persona === persona.id);
    this.setup = gone.reduce((setup, one) => withoutParticipant(setup, one.key), this.setup);
    catalog.personas = catalog.personas.filter((one) => one.id !== persona.id);
  }

  /** Create the discussion. On failure, shows the errors beside their fields. */
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
    if (this.uploads.isUploading) return { question: "A file is still uploading. Wait a moment." };
    if (this.uploads.hasErrors) return { question: "A file failed to upload. Remove it, or attach it again." };
    const lacks = validateSetup(this.setup);
    return lacks ? { participants: lacks } : {};
  }
}

/** Restore a stored draft. An older page may have stored fewer fields. */
function restoreDraft(draft: Partial<NewDiscussionValues>): NewDiscussionValues {
  return { ...NEW_DRAFT, ...draft, setup: restoreSetup(draft.setup) };
}

export const newDiscussionDraft = new NewDiscussionDraft();
