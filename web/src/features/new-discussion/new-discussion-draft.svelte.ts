/** The discussion that is being begun. It outlives the view and the page, until it is sent. */

import { call, Refusal } from "../../api/client.ts";
import { Once } from "../../stores/idempotent-send.ts";
import { Uploads } from "../../stores/uploads.svelte.ts";
import { kept } from "../../stores/storage.ts";
import type { Discussion, Persona } from "../../api/types.ts";
import { models } from "../../stores/models.svelte.ts";
import { catalogue } from "../../stores/catalog.svelte.ts";
import { bodyOf, wrongIn, type Draft, type Wrong } from "../participants/draft.ts";
import { readyModels } from "../../state/model-offers.ts";
import { firstTable } from "./samples.ts";
import { toasts } from "../../stores/toasts.svelte.ts";
import {
  EMPTY,
  missing,
  MOST_SEATS,
  newSeat,
  relaid,
  withoutSeat,
  withSeat,
  type Table,
} from "../participants/setup.ts";

const NEW: Draft = { message: "", table: EMPTY, project: null, language: null, cap: null, files: [] };
const stored = kept<Draft>("start", NEW);

class Composing {
  draft = $state.raw<Draft>(restored(stored.read()));
  wrong = $state.raw<Wrong>({});
  isSending = $state(false);
  /** What is attached; what of it has arrived becomes part of the draft. */
  readonly uploads = new Uploads();
  #once = new Once("start");

  constructor() {
    this.uploads.put(this.draft.files);
  }

  get table(): Table {
    return this.draft.table;
  }

  set table(table: Table) {
    this.change({ table });
    this.wrong = {};
  }

  change(some: Partial<Draft>): void {
    this.draft = { ...this.draft, ...some };
    stored.write(this.draft);
    if (!this.draft.message) this.#once.forget();
    if (some.message) this.wrong = { ...this.wrong, question: undefined };
  }

  /** Lay a first table with what can be asked, where nobody has laid one. */
  begin(): void {
    if (this.table.seats.length || !models.offers) return;
    const first = firstTable(models.offers);
    if (first) this.change({ table: first });
  }

  /** Give somebody a seat who was just made up, through a model that is ready; where that cannot be, say why. */
  seat(persona: Persona): void {
    catalogue.personas = [persona, ...catalogue.personas.filter((one) => one.id !== persona.id)];
    const model = readyModels(models.offers ?? [])[0] ?? this.table.seats[0]?.model;
    if (!model) return toasts.say(`No model is ready to speak for ${persona.name}.`, { bad: true });
    if (this.table.seats.length >= MOST_SEATS)
      return toasts.say(
        `All ${MOST_SEATS} seats are taken: ${persona.name} is a persona now, but has no seat.`,
        {
          bad: true,
        },
      );
    this.table = withSeat(this.table, newSeat(model, { persona: persona.id }));
  }

  /** Take back whom nobody wanted after all. */
  unseat(persona: Persona): void {
    const gone = this.table.seats.filter((one) => one.persona === persona.id);
    this.table = gone.reduce((table, one) => withoutSeat(table, one.key), this.table);
    catalogue.personas = catalogue.personas.filter((one) => one.id !== persona.id);
  }

  /** Begin the discussion; where that fails, say beside what it is about why. */
  async send(): Promise<Discussion | null> {
    if (this.isSending) return null;
    this.wrong = this.#checked();
    if (Object.keys(this.wrong).length) return null;
    this.isSending = true;
    try {
      const body = bodyOf(this.draft, catalogue.personas);
      const started = await this.#once.send(body, (key) => call("POST /api/discussions", { body, key }));
      const { message, files } = body;
      this.change({ message: this.draft.message.trim() === message.trim() ? "" : this.draft.message });
      this.uploads.sent(files ?? []);
      this.change({ files: this.uploads.stored });
      return started.discussion;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.wrong = wrongIn(error.message, error.errors);
      return null;
    } finally {
      this.isSending = false;
    }
  }

  #checked(): Wrong {
    if (!this.draft.message.trim()) return { question: "Write a question first." };
    if (this.uploads.isBusy) return { question: "Wait a moment: a file is still on its way." };
    if (this.uploads.isFailed)
      return { question: "A file did not arrive: take it away, or attach it again." };
    const lacks = missing(this.table);
    return lacks ? { table: lacks } : {};
  }
}

/** A draft may have been kept by an older page, which knew less. */
function restored(draft: Partial<Draft>): Draft {
  return { ...NEW, ...draft, table: relaid(draft.table) };
}

export const composing = new Composing();
