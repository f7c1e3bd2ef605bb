/** Evaluation of one answer: judging, improving, accepting and undoing. */

import { callApi } from "../../api/client.ts";
import { streamCall } from "../../api/event-stream.ts";
import type { Discussion, Evaluation } from "../../api/types.ts";
import { initialProgress, applyImprovementEvent, type EvaluationProgress } from "./progress.ts";

export type BusyState = "" | "judging" | "improving" | "accepting";

export class EvaluationStore {
  evaluations = $state.raw<readonly Evaluation[]>([]);
  progress = $state.raw<EvaluationProgress | null>(null);
  /** Text of the persona when the dialog opened. */
  personaText = $state.raw("");
  busy = $state.raw<BusyState>("");
  errorMessage = $state.raw("");
  #abort: AbortController | null = null;
  readonly #messageId: string;

  constructor(message: string) {
    this.#messageId = message;
  }

  /** Load earlier evaluations and the persona. */
  async load(discussion: Discussion, participant: string): Promise<void> {
    await this.#runExclusive("", async () => {
      this.evaluations = await callApi("GET /api/messages/{id}/evaluations", {
        path: { id: this.#messageId },
      });
      if (this.evaluations[0]) this.progress = initialProgress(this.evaluations[0]);
    });
    const speaker = discussion.participants.find((one) => one.id === participant);
    const id = speaker?.persona ?? discussion.persona;
    if (!id) return;
    // Without it, the improvement is shown whole instead of as a diff.
    const persona = await callApi("GET /api/personas/{id}", { path: { id } }).catch(() => null);
    this.personaText = persona?.system_prompt || persona?.description || "";
  }

  async judge(assertions: string, judge: string): Promise<void> {
    await this.#runExclusive("judging", async (signal) => {
      const path = { id: this.#messageId };
      const body = { assertions, judge: judge || null };
      const { evaluation } = await callApi("POST /api/messages/{id}/evaluations", { path, body, signal });
      this.evaluations = [evaluation, ...this.evaluations];
      this.progress = initialProgress(evaluation);
    });
  }

  async improve(): Promise<void> {
    const evaluation = this.progress?.evaluation;
    if (!evaluation) return;
    await this.#runExclusive("improving", async (signal) => {
      const path = { id: evaluation.id };
      try {
        for await (const event of streamCall("POST /api/evaluations/{id}/improve", { path, signal })) {
          this.#setProgress(applyImprovementEvent(this.progress ?? initialProgress(evaluation), event));
        }
      } finally {
        if (this.progress?.attempt) this.#setProgress({ ...this.progress, attempt: null });
      }
    });
  }

  accept(): Promise<void> {
    return this.#applyOrUndo("POST /api/evaluations/{id}/apply");
  }

  undo(): Promise<void> {
    return this.#applyOrUndo("POST /api/evaluations/{id}/undo");
  }

  selectEvaluation(id: string): void {
    const evaluation = this.evaluations.find((one) => one.id === id);
    if (evaluation) this.progress = initialProgress(evaluation);
  }

  /** Cancel the current call. Finished rounds are kept. */
  stop(): void {
    this.#abort?.abort();
  }

  async #applyOrUndo(name: "POST /api/evaluations/{id}/apply" | "POST /api/evaluations/{id}/undo"): Promise<void> {
    const progress = this.progress;
    if (!progress) return;
    await this.#runExclusive("accepting", async () => {
      this.#setProgress({
        ...progress,
        evaluation: await callApi(name, { path: { id: progress.evaluation.id } }),
      });
    });
  }

  #setProgress(progress: EvaluationProgress): void {
    this.progress = progress;
    this.evaluations = this.evaluations.map((one) => (one.id === progress.evaluation.id ? progress.evaluation : one));
  }

  /** Run one call at a time. The initial load may still be pending during the first. */
  async #runExclusive(busy: BusyState, act: (signal: AbortSignal) => Promise<void>): Promise<void> {
    if (this.busy) return;
    const leaving = new AbortController();
    this.#abort = leaving;
    this.busy = busy;
    this.errorMessage = "";
    try {
      await act(leaving.signal);
    } catch (error) {
      if (!leaving.signal.aborted) this.errorMessage = (error as Error).message;
    } finally {
      if (this.#abort === leaving) this.busy = "";
    }
  }
}
