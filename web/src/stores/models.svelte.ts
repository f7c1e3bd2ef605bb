/** The models of all providers, the same wherever one is chosen. Read when something needs them, and kept. */

import { callApi } from "../api/client.ts";
import { buildOffers, type ProviderOffer } from "../state/model-offers.ts";

const MAX_AGE_MS = 60_000; // milliseconds: every provider is asked, so not each time a field is shown

class ModelStore {
  /** Null until the providers have been asked. */
  offers = $state.raw<readonly ProviderOffer[] | null>(null);
  /** Why they are not known. */
  errorMessage = $state.raw("");
  #loadedAt = 0;
  #loading: Promise<void> | null = null;

  /** Ask all providers, or one of them; what is known already stays until then. */
  async load(provider?: string): Promise<void> {
    if (provider) return this.#fetchOffers(provider);
    this.#loading ??= this.#fetchOffers().finally(() => (this.#loading = null));
    return this.#loading;
  }

  /** Ask them where nobody has lately. */
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
    this.offers =
      provider && this.offers ? this.offers.map((offer) => changed.get(offer.provider) ?? offer) : found;
    if (!provider) this.#loadedAt = Date.now();
  }
}

export const modelStore = new ModelStore();
