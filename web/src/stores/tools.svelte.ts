/** The tools that there are, by their servers. Every server is asked, so it is read when something needs it, and kept. */

import { call } from "../api/client.ts";
import type { ListedServer } from "../api/types.ts";

class Toolbox {
  /** Null until the servers have been asked. */
  servers = $state.raw<readonly ListedServer[] | null>(null);
  /** Why they are not known. */
  trouble = $state.raw("");
  isAsking = $state(false);
  #asked = 0; // how often they were: a server that was added meanwhile is known to the last answer alone

  async read(): Promise<void> {
    const asked = ++this.#asked;
    this.isAsking = true;
    try {
      const servers = await call("GET /api/tools");
      if (asked === this.#asked) [this.servers, this.trouble] = [servers, ""];
    } catch (error) {
      if (asked === this.#asked) this.trouble = (error as Error).message;
    } finally {
      if (asked === this.#asked) this.isAsking = false;
    }
  }
}

export const toolbox = new Toolbox();
