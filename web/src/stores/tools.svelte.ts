/** Available tools by server. Loading asks every server, so the result is cached. */

import { callApi } from "../api/client.ts";
import type { ListedServer } from "../api/types.ts";

class Toolbox {
  /** Null until loaded. */
  servers = $state.raw<readonly ListedServer[] | null>(null);
  /** Why loading failed. */
  errorMessage = $state.raw("");
  isLoading = $state(false);
  #requestCount = 0; // number of requests; only the last response knows a server that was just added

  async load(): Promise<void> {
    const asked = ++this.#requestCount;
    this.isLoading = true;
    try {
      const servers = await callApi("GET /api/tools");
      if (asked === this.#requestCount) [this.servers, this.errorMessage] = [servers, ""];
    } catch (error) {
      if (asked === this.#requestCount) this.errorMessage = (error as Error).message;
    } finally {
      if (asked === this.#requestCount) this.isLoading = false;
    }
  }
}

export const toolbox = new Toolbox();
