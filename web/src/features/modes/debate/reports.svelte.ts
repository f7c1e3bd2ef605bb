/** Reports of the debates that are in view: read when one comes into view, and again after something ended in it. */

import { call } from "../../../api/client.ts";
import type { Run } from "../../../state/run.ts";
import { isLive } from "../../../state/turn.ts";
import type { Reading } from "./analyses.ts";

class Reports {
  #readings = $state.raw<ReadonlyMap<string, Reading>>(new Map());
  #asked = new Map<string, Promise<void>>();
  #stands = new Map<string, string>();

  of(run: string): Reading | null {
    return this.#readings.get(run) ?? null;
  }

  /** Read how a run stands, unless nothing ended in it since it was read. */
  async read(run: Run): Promise<void> {
    const stand = standOf(run);
    if (this.#stands.get(run.id) === stand) return this.#asked.get(run.id);
    this.#stands.set(run.id, stand);
    const before = this.#asked.get(run.id);
    const asked = Promise.resolve(before).then(() => this.#ask(run));
    this.#asked.set(run.id, asked);
    return asked;
  }

  async #ask({ id, heard }: Run): Promise<void> {
    try {
      const report = await call("GET /api/runs/{id}", { path: { id } });
      this.#readings = new Map(this.#readings).set(id, { report, heard });
    } catch {
      this.#stands.delete(id); // what was heard is shown, and the next change asks again
    }
  }
}

/** What changes whenever something ended in a run, and again when it is known to be stored. */
function standOf(run: Run): string {
  const over = run.turns
    .filter((turn) => !isLive(turn))
    .map((turn) => `${turn.key}:${turn.state}:${turn.message}`);
  return [run.status === "waiting" ? "running" : run.status, ...over].join(" ");
}

export const reports = new Reports();
