/** Events of finished lessons, each loaded once, one after the other. */

import { SvelteMap } from "svelte/reactivity";
import { streamCall } from "../../../api/event-stream.ts";
import { emptyRun, applyRunEvent, type Run } from "../../../state/run.ts";

class RecordingStore {
  /** Why some failed to load; empty otherwise. */
  errorMessage = $state("");
  #runs = new SvelteMap<string, Run>();
  #pendingIds: string[] = [];
  #isBusy = false;

  /** The run, with its loaded events if it was not live. */
  withRecording(run: Run): Run {
    const recorded = run.lastSeq ? null : this.#runs.get(run.id);
    if (!recorded) return run;
    const dropped = new Map(recorded.turns.map((turn) => [turn.key, turn.rejectedActions]));
    const turns = run.turns.map((turn) => ({
      ...turn,
      rejectedActions: dropped.get(turn.key) ?? turn.rejectedActions,
    }));
    const { actions, speakerSelections, lastSeq } = recorded;
    return { ...run, turns, actions, speakerSelections, lastSeq };
  }

  /** Load missing recordings, the last run first. Clears earlier errors. */
  request(ids: readonly string[]): void {
    const wanted = ids.filter((id) => !this.#runs.has(id));
    if (wanted.join() !== this.#pendingIds.join()) this.errorMessage = "";
    this.#pendingIds = wanted;
    if (!this.#isBusy && !this.errorMessage) void this.#loadPending();
  }

  retry(): void {
    this.errorMessage = "";
    if (!this.#isBusy) void this.#loadPending();
  }

  async #loadPending(): Promise<void> {
    this.#isBusy = true;
    try {
      for (let id = this.#pendingIds.at(-1); id && !this.errorMessage; id = this.#pendingIds.at(-1))
        await this.#loadRecording(id);
    } finally {
      this.#isBusy = false;
    }
  }

  async #loadRecording(id: string): Promise<void> {
    let run = emptyRun(id);
    try {
      for await (const event of streamCall("GET /api/runs/{id}/events", { path: { id } })) {
        if (event.type !== "resync") run = applyRunEvent(run, event);
      }
      this.#runs.set(id, run);
      this.#pendingIds = this.#pendingIds.filter((one) => one !== id);
    } catch (error) {
      if (this.#pendingIds.includes(id)) this.errorMessage = (error as Error).message;
    }
  }
}

export const recordingStore = new RecordingStore();
