/** The tools that there are, by their servers. Every server is asked, so it is read when something needs it, and kept. */

import { call } from "../api.ts";
import type { ListedServer } from "../wire.ts";

class Toolbox {
  /** Null until the servers have been asked. */
  servers = $state.raw<readonly ListedServer[] | null>(null);
  /** Why they are not known. */
  trouble = $state.raw("");
  isAsking = $state(false);

  async read(): Promise<void> {
    if (this.isAsking) return;
    this.isAsking = true;
    try {
      this.servers = await call("GET /api/tools");
      this.trouble = "";
    } catch (error) {
      this.trouble = (error as Error).message;
    } finally {
      this.isAsking = false;
    }
  }
}

export const toolbox = new Toolbox();
