/** Sending that is done once: under the same key while it is the same, until it is known what became of it. */

import { newKey, Refusal } from "../api/client.ts";
import { kept, type Kept } from "./storage.ts";

interface Sending {
  readonly body: string;
  readonly key: string;
}

export class Once {
  readonly #kept: Kept<Sending | null>;
  #sending: Sending | null;

  /** What is being sent outlives the page, as the draft of that name does. */
  constructor(draft: string) {
    this.#kept = kept<Sending | null>(`${draft}.sending`, null);
    this.#sending = this.#kept.read();
  }

  /** Send something. Where no answer came it may have been taken, unless the server has refused it. */
  async send<T>(body: unknown, send: (key: string) => Promise<T>): Promise<T> {
    const written = JSON.stringify(body);
    const key = this.#sending?.body === written ? this.#sending.key : newKey();
    this.#keep({ body: written, key });
    try {
      const answer = await send(key);
      this.forget();
      return answer;
    } catch (error) {
      if (error instanceof Refusal && error.status >= 400 && error.status < 500) this.forget();
      throw error;
    }
  }

  /** What is written from now on is something else, though it be the same words. */
  forget(): void {
    if (this.#sending) this.#keep(null);
  }

  #keep(sending: Sending | null): void {
    this.#sending = sending;
    this.#kept.write(sending);
  }
}
