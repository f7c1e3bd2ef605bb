/** What is being written in a discussion, to whom, and what goes with it; cards and messages may lay things there. */

import { kept } from "./storage.ts";
import type { StoredFile } from "../api/types.ts";
import { Once } from "./idempotent-send.ts";
import { Uploads } from "./uploads.svelte.ts";

interface Draft {
  words: string;
  to: readonly string[];
  files: readonly StoredFile[];
  cap: number | null;
}

type Sent = Desk["message"];

const NOTHING: Draft = { words: "", to: [], files: [], cap: null };

export class Desk {
  words = $state("");
  /** Who alone is spoken to; nobody in particular where it is empty. */
  to = $state.raw<readonly string[]>([]);
  /** What the answer may cost in US dollars. */
  cap = $state<number | null>(null);
  readonly uploads = new Uploads();
  readonly once: Once;
  /** Where it is written, while that is shown. */
  box: HTMLTextAreaElement | null = null;
  #draft;

  constructor(discussion: string) {
    this.#draft = kept<Draft | null>(`draft.${discussion}`, null);
    this.once = new Once(`draft.${discussion}`);
    const { words, to, files, cap } = { ...NOTHING, ...this.#draft.read() };
    this.words = words;
    this.to = to;
    this.cap = cap;
    this.uploads.put(files);
  }

  /** All of it, as the server takes it. A desk outlives the view that made it, which a `$derived` would not. */
  get message() {
    return {
      message: this.words.trim(),
      to: this.to.length ? this.to : null,
      files: this.uploads.stored.map((one) => one.id),
    };
  }

  keep(): void {
    const draft = { words: this.words, to: this.to, files: this.uploads.stored, cap: this.cap };
    const isEmpty = !draft.words && !draft.to.length && !draft.files.length && draft.cap === null;
    this.#draft.write(isEmpty ? null : draft);
    if (!draft.words) this.once.forget();
  }

  /** Speak to one alone, or to it no more. */
  address(participant: string): void {
    this.to = this.to.includes(participant)
      ? this.to.filter((one) => one !== participant)
      : [...this.to, participant];
  }

  /** Lay something there to be written on. */
  put({ words, to, files }: Omit<Draft, "cap">): void {
    this.words = words;
    this.to = to;
    this.uploads.put(files);
    this.focus();
  }

  /** Take away what was sent; what was written or laid there meanwhile stays. */
  sent({ message, files }: Sent): void {
    const rest = this.words.trimStart();
    this.words = rest.startsWith(message) ? rest.slice(message.length).trimStart() : this.words;
    this.to = [];
    this.uploads.sent(files);
  }

  focus(): void {
    this.box?.focus();
  }
}

const desks = new Map<string, Desk>();

export function deskOf(discussion: string): Desk {
  const found = desks.get(discussion) ?? new Desk(discussion);
  desks.set(discussion, found);
  return found;
}
