/** Idempotent sending: the same content keeps its key until its outcome is known. */

import { newIdempotencyKey, ApiError } from "../api/client.ts";
import { persisted, type PersistedValue } from "./storage.ts";

interface PendingSend {
  readonly body: string;
  readonly key: string;
}

export class IdempotentSend {
  readonly #storage: PersistedValue<PendingSend | null>;
  #pending: PendingSend | null;

  /** The pending key is persisted, like the draft of that name. */
  constructor(draft: string) {
    this.#storage = persisted<PendingSend | null>(`${draft}.sending`, null);
    this.#pending = this.#storage.read();
  }

  /** Send a request. Keeps the key until the server accepts or rejects the request. */
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

  /** Forget the key: the next send is a new request, even with the same content. */
  reset(): void {
    if (this.#pending) this.#save(null);
  }

  #save(sending: PendingSend | null): void {
    this.#pending = sending;
    this.#storage.write(sending);
  }
}
