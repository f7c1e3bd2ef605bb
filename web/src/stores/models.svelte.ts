/** Models of all providers. Loaded when needed, then cached. */

import { callApi } from "../api/client.ts";
import { buildOffers, type ProviderOffer } from "../state/model-offers.ts";

const MAX_AGE_MS = 60_000; // milliseconds; loading asks every provider, so fields share the result

class ModelStore {
  /** Null until loaded. */
  offers = $state.raw<readonly ProviderOffer[] | null>(null);
  /** Why loading failed. */
  errorMessage = $state.raw("");
  #loadedAt = 0;
  #loading: Promise<void> | null = null;

  /** Ask all providers, or one. Cached offers stay until then. */
  async load(provider?: string): Promise<void> {
    if (provider) return this.#fetchOffers(provider);
    this.#loading ??= this.#fetchOffers().finally(() => (this.#loading = null));
    return this.#loading;
  }

  /** Load unless the cache is fresh. */
  loadIfStale(): void {
    if (this.errorMessage || Date.now() - this.#loadedAt > MAX_AGE_MS) void this.load();
  }

  async #fetchOffers(provider?: string): Promise<void> {
    try {
      const [statuses, asked] = await Promise.all([
        callApi("GET /api/providers"),
        callApi("GET /api/models", { query: { provider } }),
      ]);
      this.#setOffers(buildOffers(statuses, asked), provider);
      this.errorMessage = "";
    } catch (error) {
      this.errorMessage = (error as Error).message;
    }
  }

  #setOffers(found: readonly ProviderOffer[], provider?: string): void {
    const changed = new Map(found.map((offer) => [offer.provider, offer]));
    this.offers = provider && this.offers ? this.offers.map((offer) => changed.get(offer.provider) ?? offer) : found;
    if (!provider) this.#loadedAt = Date.now();
  }
}

export const modelStore = new ModelStore();
