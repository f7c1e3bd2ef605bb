/** The models of all providers, the same wherever one is chosen. Read when something needs them, and kept. */

import { call } from "../api/client.ts";
import { offersOf, type Offer } from "../state/model-offers.ts";

const FRESH = 60_000; // milliseconds: every provider is asked, so not each time a field is shown

class Models {
  /** Null until the providers have been asked. */
  offers = $state.raw<readonly Offer[] | null>(null);
  /** Why they are not known. */
  trouble = $state.raw("");
  #asked = 0;
  #asking: Promise<void> | null = null;

  /** Ask all providers, or one of them; what is known already stays until then. */
  async read(provider?: string): Promise<void> {
    if (provider) return this.#ask(provider);
    this.#asking ??= this.#ask().finally(() => (this.#asking = null));
    return this.#asking;
  }

  /** Ask them where nobody has lately. */
  need(): void {
    if (this.trouble || Date.now() - this.#asked > FRESH) void this.read();
  }

  async #ask(provider?: string): Promise<void> {
    try {
      const [statuses, asked] = await Promise.all([
        call("GET /api/providers"),
        call("GET /api/models", { query: { provider } }),
      ]);
      this.#put(offersOf(statuses, asked), provider);
      this.trouble = "";
    } catch (error) {
      this.trouble = (error as Error).message;
    }
  }

  #put(found: readonly Offer[], provider?: string): void {
    const changed = new Map(found.map((offer) => [offer.provider, offer]));
    this.offers =
      provider && this.offers ? this.offers.map((offer) => changed.get(offer.provider) ?? offer) : found;
    if (!provider) this.#asked = Date.now();
  }
}

export const models = new Models();
