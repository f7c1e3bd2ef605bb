/** The tools that there are, by their servers. Every server is asked, so it is read when something needs it, and kept. */

import { callApi } from "../api/client.ts";
import type { ListedServer } from "../api/types.ts";

class Toolbox {
  /** Null until the servers have been asked. */
  servers = $state.raw<readonly ListedServer[] | null>(null);
  /** Why they are not known. */
  errorMessage = $state.raw("");
  isLoading = $state(false);
  #requestCount = 0; // how often they were: a server that was added meanwhile is known to the last answer alone

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
