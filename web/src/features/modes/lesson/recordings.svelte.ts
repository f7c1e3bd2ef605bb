/** Lessons that were over before the page came: their events are read to the end, once each, and one after the other. */

import { SvelteMap } from "svelte/reactivity";
import { told } from "../../../api/stream-call.ts";
import { emptyRun, told as heard, type Run } from "../../../state/run.ts";

class Recordings {
  /** Why some could not be read; empty while all goes well. */
  trouble = $state("");
  #runs = new SvelteMap<string, Run>();
  #wanted: string[] = [];
  #busy = false;

  /** What is known of a run, as far as it was heard, or read since. */
  of(run: Run): Run {
    const recorded = run.heard ? null : this.#runs.get(run.id);
    if (!recorded) return run;
    const dropped = new Map(recorded.turns.map((turn) => [turn.key, turn.dropped]));
    const turns = run.turns.map((turn) => ({ ...turn, dropped: dropped.get(turn.key) ?? turn.dropped }));
    const { actions, decisions, heard } = recorded;
    return { ...run, turns, actions, decisions, heard };
  }

  /** Read what is not known yet; what comes last is read first. Trouble with others is no trouble any more. */
  want(ids: readonly string[]): void {
    const wanted = ids.filter((id) => !this.#runs.has(id));
    if (wanted.join() !== this.#wanted.join()) this.trouble = "";
    this.#wanted = wanted;
    if (!this.#busy && !this.trouble) void this.#read();
  }

  again(): void {
    this.trouble = "";
    if (!this.#busy) void this.#read();
  }

  async #read(): Promise<void> {
    this.#busy = true;
    try {
      for (let id = this.#wanted.at(-1); id && !this.trouble; id = this.#wanted.at(-1)) await this.#one(id);
    } finally {
      this.#busy = false;
    }
  }

  async #one(id: string): Promise<void> {
    let run = emptyRun(id);
    try {
      for await (const event of told("GET /api/runs/{id}/events", { path: { id } })) {
        if (event.type !== "resync") run = heard(run, event);
      }
      this.#runs.set(id, run);
      this.#wanted = this.#wanted.filter((one) => one !== id);
    } catch (error) {
      if (this.#wanted.includes(id)) this.trouble = (error as Error).message;
    }
  }
}

export const recordings = new Recordings();
