/** Reports of the visible debates, loaded on first view and after each ended turn. */

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

  /** Load a report, unless nothing ended since the last load. */
  async loadReport(run: Run): Promise<void> {
    const stand = runVersion(run);
    if (this.#runVersions.get(run.id) === stand) return this.#requests.get(run.id);
    this.#runVersions.set(run.id, stand);
    const before = this.#requests.get(run.id);
    const asked = Promise.resolve(before).then(() => this.#fetchReport(run));
    this.#requests.set(run.id, asked);
    return asked;
  }

  async #fetchReport({ id, lastSeq }: Run): Promise<void> {
    try {
      const report = await callApi("GET /api/runs/{id}", { path: { id } });
      this.#loadedReports = new Map(this.#loadedReports).set(id, { report, lastSeq });
    } catch {
      this.#runVersions.delete(id); // events are shown until then; the next change retries
    }
  }
}

/** Changes when a turn ended, and when it is stored. */
function runVersion(run: Run): string {
  const over = run.turns.filter((turn) => !isLiveTurn(turn)).map((turn) => `${turn.key}:${turn.state}:${turn.message}`);
  return [run.status === "waiting" ? "running" : run.status, ...over].join(" ");
}

export const reportStore = new ReportStore();
