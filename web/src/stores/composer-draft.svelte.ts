/** Draft of the next message in a discussion: text, recipients and files. Cards and messages can add to it. */

import { persisted } from "./storage.ts";
import type { StoredFile } from "../api/types.ts";
import { IdempotentSend } from "./idempotent-send.ts";
import { Uploads } from "./uploads.svelte.ts";

interface SavedDraft {
  words: string;
  to: readonly string[];
  files: readonly StoredFile[];
  maxCostUsd: number | null;
}

type SentMessage = ComposerDraft["messageBody"];

const EMPTY_DRAFT: SavedDraft = { words: "", to: [], files: [], maxCostUsd: null };

export class ComposerDraft {
  text = $state("");
  /** Ids of the recipients; empty for everyone. */
  to = $state.raw<readonly string[]>([]);
  /** Spending limit of the run, in US dollars. */
  maxCostUsd = $state<number | null>(null);
  readonly uploads = new Uploads();
  readonly idempotentSend: IdempotentSend;
  /** The text field, while it is rendered. */
  textarea: HTMLTextAreaElement | null = null;
  #storage;

  constructor(discussion: string) {
    this.#storage = persisted<SavedDraft | null>(`draft.${discussion}`, null);
    this.idempotentSend = new IdempotentSend(`draft.${discussion}`);
    const { words, to, files, maxCostUsd } = { ...EMPTY_DRAFT, ...this.#storage.read() };
    this.text = words;
    this.to = to;
    this.maxCostUsd = maxCostUsd;
    this.uploads.replaceAll(files);
  }

  /** The request body. Not a `$derived`: the draft outlives the view that created it. */
  get messageBody() {
    return {
      message: this.text.trim(),
      to: this.to.length ? this.to : null,
      files: this.uploads.storedFiles.map((one) => one.id),
    };
  }

  save(): void {
    const draft = {
      words: this.text,
      to: this.to,
      files: this.uploads.storedFiles,
      maxCostUsd: this.maxCostUsd,
    };
    const isEmpty = !draft.words && !draft.to.length && !draft.files.length && draft.maxCostUsd === null;
    this.#storage.write(isEmpty ? null : draft);
    if (!draft.words) this.idempotentSend.reset();
  }

  /** Add or remove a recipient. */
  toggleRecipient(participant: string): void {
    this.to = this.to.includes(participant) ? this.to.filter((one) => one !== participant) : [...this.to, participant];
  }

  /** Put text into the draft and focus the field. */
  setContent({ words, to, files }: Omit<SavedDraft, "maxCostUsd">): void {
    this.text = words;
    this.to = to;
    this.uploads.replaceAll(files);
    this.focus();
  }

  /** Remove what was sent. Text that was added meanwhile stays. */
  clearSent({ message, files }: SentMessage): void {
    const rest = this.text.trimStart();
    this.text = rest.startsWith(message) ? rest.slice(message.length).trimStart() : this.text;
    this.to = [];
    this.uploads.removeSent(files);
  }

  focus(): void {
    this.textarea?.focus();
  }
}

const drafts = new Map<string, ComposerDraft>();

export function getComposerDraft(discussion: string): ComposerDraft {
  const found = drafts.get(discussion) ?? new ComposerDraft(discussion);
  drafts.set(discussion, found);
  return found;
}
