/** One answer on trial: its assertions are judged, what gave it is improved, and that is accepted or undone. */

import { call } from "../../api/client.ts";
import { told } from "../../api/stream-call.ts";
import type { Discussion, Trial } from "../../api/types.ts";
import { begun, improved, type Progress } from "./progress.ts";

export type Busy = "" | "judging" | "improving" | "accepting";

export class Court {
  trials = $state.raw<readonly Trial[]>([]);
  progress = $state.raw<Progress | null>(null);
  /** What the persona was told when the page came here. */
  text = $state.raw("");
  busy = $state.raw<Busy>("");
  trouble = $state.raw("");
  #leaving: AbortController | null = null;
  readonly #message: string;

  constructor(message: string) {
    this.#message = message;
  }

  /** Read what was judged before, and what the participant is told to be. */
  async open(discussion: Discussion, participant: string): Promise<void> {
    await this.#try("", async () => {
      this.trials = await call("GET /api/messages/{id}/assertions", { path: { id: this.#message } });
      if (this.trials[0]) this.progress = begun(this.trials[0]);
    });
    const seat = discussion.participants.find((one) => one.id === participant);
    const id = seat?.persona ?? discussion.persona;
    if (!id) return;
    // Without it the improvement is shown whole instead of as a difference.
    const persona = await call("GET /api/personas/{id}", { path: { id } }).catch(() => null);
    this.text = persona?.system_prompt || persona?.description || "";
  }

  async judge(assertions: string, judge: string): Promise<void> {
    await this.#try("judging", async (signal) => {
      const path = { id: this.#message };
      const body = { assertions, judge: judge || null };
      const { trial } = await call("POST /api/messages/{id}/assertions", { path, body, signal });
      this.trials = [trial, ...this.trials];
      this.progress = begun(trial);
    });
  }

  async improve(): Promise<void> {
    const trial = this.progress?.trial;
    if (!trial) return;
    await this.#try("improving", async (signal) => {
      const path = { id: trial.id };
      try {
        for await (const event of told("POST /api/trials/{id}/improve", { path, signal })) {
          this.#now(improved(this.progress ?? begun(trial), event));
        }
      } finally {
        if (this.progress?.trying) this.#now({ ...this.progress, trying: null });
      }
    });
  }

  accept(): Promise<void> {
    return this.#settle("POST /api/trials/{id}/accept");
  }

  undo(): Promise<void> {
    return this.#settle("POST /api/trials/{id}/undo");
  }

  choose(id: string): void {
    const trial = this.trials.find((one) => one.id === id);
    if (trial) this.progress = begun(trial);
  }

  /** Leave what is going on; finished rounds are kept. */
  stop(): void {
    this.#leaving?.abort();
  }

  async #settle(name: "POST /api/trials/{id}/accept" | "POST /api/trials/{id}/undo"): Promise<void> {
    const progress = this.progress;
    if (!progress) return;
    await this.#try("accepting", async () => {
      this.#now({ ...progress, trial: await call(name, { path: { id: progress.trial.id } }) });
    });
  }

  #now(progress: Progress): void {
    this.progress = progress;
    this.trials = this.trials.map((one) => (one.id === progress.trial.id ? progress.trial : one));
  }

  /** Do one thing at a time; what is read at the start may come while the first is done. */
  async #try(busy: Busy, act: (signal: AbortSignal) => Promise<void>): Promise<void> {
    if (this.busy) return;
    const leaving = new AbortController();
    this.#leaving = leaving;
    this.busy = busy;
    this.trouble = "";
    try {
      await act(leaving.signal);
    } catch (error) {
      if (!leaving.signal.aborted) this.trouble = (error as Error).message;
    } finally {
      if (this.#leaving === leaving) this.busy = "";
    }
  }
}
