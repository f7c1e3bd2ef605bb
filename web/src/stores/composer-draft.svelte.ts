/** What is being written in a discussion, to whom, and what goes with it; cards and messages may lay things there. */

import { persisted } from "./storage.ts";
import type { StoredFile } from "../api/types.ts";
import { IdempotentSend } from "./idempotent-send.ts";
import { Uploads } from "./uploads.svelte.ts";

interface SavedDraft {
  words: string;
  to: readonly string[];
  files: readonly StoredFile[];
  cap: number | null;
}

type SentMessage = ComposerDraft["messageBody"];

const EMPTY_DRAFT: SavedDraft = { words: "", to: [], files: [], cap: null };

export class ComposerDraft {
  text = $state("");
  /** Who alone is spoken to; nobody in particular where it is empty. */
  to = $state.raw<readonly string[]>([]);
  /** What the answer may cost in US dollars. */
  maxCostUsd = $state<number | null>(null);
  readonly uploads = new Uploads();
  readonly idempotentSend: IdempotentSend;
  /** Where it is written, while that is shown. */
  textarea: HTMLTextAreaElement | null = null;
  #storage;

  constructor(discussion: string) {
    this.#storage = persisted<SavedDraft | null>(`draft.${discussion}`, null);
    this.idempotentSend = new IdempotentSend(`draft.${discussion}`);
    const { words, to, files, cap } = { ...EMPTY_DRAFT, ...this.#storage.read() };
    this.text = words;
    this.to = to;
    this.maxCostUsd = cap;
    this.uploads.replaceAll(files);
  }

  /** All of it, as the server takes it. A desk outlives the view that made it, which a `$derived` would not. */
  get messageBody() {
    return {
      message: this.text.trim(),
      to: this.to.length ? this.to : null,
      files: this.uploads.storedFiles.map((one) => one.id),
    };
  }

  save(): void {
    const draft = { words: this.text, to: this.to, files: this.uploads.storedFiles, cap: this.maxCostUsd };
    const isEmpty = !draft.words && !draft.to.length && !draft.files.length && draft.cap === null;
    this.#storage.write(isEmpty ? null : draft);
    if (!draft.words) this.idempotentSend.reset();
  }

  /** Speak to one alone, or to it no more. */
  toggleRecipient(participant: string): void {
    this.to = this.to.includes(participant)
      ? this.to.filter((one) => one !== participant)
      : [...this.to, participant];
  }

  /** Lay something there to be written on. */
  setContent({ words, to, files }: Omit<SavedDraft, "cap">): void {
    this.text = words;
    this.to = to;
    this.uploads.replaceAll(files);
    this.focus();
  }

  /** Take away what was sent; what was written or laid there meanwhile stays. */
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
