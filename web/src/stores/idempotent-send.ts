/** Sending that is done once: under the same key while it is the same, until it is known what became of it. */

import { newIdempotencyKey, ApiError } from "../api/client.ts";
import { persisted, type PersistedValue } from "./storage.ts";

interface PendingSend {
  readonly body: string;
  readonly key: string;
}

export class IdempotentSend {
  readonly #storage: PersistedValue<PendingSend | null>;
  #pending: PendingSend | null;

  /** What is being sent outlives the page, as the draft of that name does. */
  constructor(draft: string) {
    this.#storage = persisted<PendingSend | null>(`${draft}.sending`, null);
    this.#pending = this.#storage.read();
  }

  /** Send something. Where no answer came it may have been taken, unless the server has refused it. */
  async send<T>(body: unknown, send: (key: string) => Promise<T>): Promise<T> {
    const written = JSON.stringify(body);
    const key = this.#pending?.body === written ? this.#pending.key : newIdempotencyKey();
    this.#save({ body: written, key });
    try {
      const answer = await send(key);
      this.reset();
      return answer;
    } catch (error) {
      if (error instanceof ApiError && error.status >= 400 && error.status < 500) this.reset();
      throw error;
    }
  }

  /** What is written from now on is something else, though it be the same words. */
  reset(): void {
    if (this.#pending) this.#save(null);
  }

  #save(sending: PendingSend | null): void {
    this.#pending = sending;
    this.#storage.write(sending);
  }
}
