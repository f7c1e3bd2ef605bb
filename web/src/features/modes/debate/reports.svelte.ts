/** Reports of the debates that are in view: read when one comes into view, and again after something ended in it. */

import { callApi } from "../../../api/client.ts";
import type { Run } from "../../../state/run.ts";
import { isLiveTurn } from "../../../state/turn.ts";
import type { LoadedReport } from "./analyses.ts";

class ReportStore {
  #loadedReports = $state.raw<ReadonlyMap<string, LoadedReport>>(new Map());
  #requests = new Map<string, Promise<void>>();
  #runVersions = new Map<string, string>();

  getReport(run: string): LoadedReport | null {
    return this.#loadedReports.get(run) ?? null;
  }

  /** Read how a run stands, unless nothing ended in it since it was read. */
  async loadReport(run: Run): Promise<void> {
    const stand = runVersion(run);
    if (this.#runVersions.get(run.id) === stand) return this.#requests.get(run.id);
    this.#runVersions.set(run.id, stand);
    const before = this.#requests.get(run.id);
    const asked = Promise.resolve(before).then(() => this.#fetchReport(run));
    this.#requests.set(run.id, asked);
    return asked;
  }

  async #fetchReport({ id, lastSeq: heard }: Run): Promise<void> {
    try {
      const report = await callApi("GET /api/runs/{id}", { path: { id } });
      this.#loadedReports = new Map(this.#loadedReports).set(id, { report, lastSeq: heard });
    } catch {
      this.#runVersions.delete(id); // what was heard is shown, and the next change asks again
    }
  }
}

/** What changes whenever something ended in a run, and again when it is known to be stored. */
function runVersion(run: Run): string {
  const over = run.turns
    .filter((turn) => !isLiveTurn(turn))
    .map((turn) => `${turn.key}:${turn.state}:${turn.message}`);
  return [run.status === "waiting" ? "running" : run.status, ...over].join(" ");
}

export const reportStore = new ReportStore();
