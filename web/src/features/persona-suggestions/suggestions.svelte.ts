/** State of the persona wizard: situation, questions, suggestions, created personas. */

import { callApi } from "../../api/client.ts";
import { streamCall } from "../../api/event-stream.ts";
import type { Persona, Proposal as Suggestion } from "../../api/types.ts";

type WizardStep = "situation" | "questions" | "suggestions";

export class SuggestionWizard {
  step = $state.raw<WizardStep>("situation");
  situation = $state("");
  model = $state("");
  questions = $state.raw<readonly string[]>([]);
  answers = $state<string[]>([]);
  suggestions = $state.raw<readonly Suggestion[]>([]);
  /** Rejected suggestions, with reasons. */
  rejectedSuggestions = $state.raw<readonly { name: string; reason: string }[]>([]);
  /** Created personas by the name of the suggestion. */
  personaBySuggestion = $state.raw<ReadonlyMap<string, Persona>>(new Map());
  isBusy = $state.raw(false);
  errorMessage = $state.raw("");
  #abort: AbortController | null = null;

  /** Request questions. If there are none, request suggestions at once. */
  async askQuestions(): Promise<void> {
    const asked = await this.#runExclusive(async (signal) => {
      const body = { situation: this.situation.trim(), model: this.model.trim() };
      return (await callApi("POST /api/persona-suggestions/questions", { body, signal })).questions;
    });
    if (!asked) return;
    this.questions = asked;
    this.answers = asked.map(() => "");
    if (asked.length) this.step = "questions";
    else await this.suggest();
  }

  async suggest(): Promise<void> {
    this.step = "suggestions";
    this.suggestions = [];
    this.rejectedSuggestions = [];
    await this.#runExclusive(async (signal) => {
      const body = {
        situation: this.situation.trim(),
        model: this.model.trim(),
        answers: this.questions.flatMap((question, place) => {
          const answer = this.answers[place]?.trim();
          return answer ? [{ question, answer }] : [];
        }),
      };
      for await (const event of streamCall("POST /api/persona-suggestions", { body, signal })) {
        if (event.type === "proposal") this.suggestions = [...this.suggestions, event.proposal];
        if (event.type !== "done") continue;
        this.rejectedSuggestions = event.dropped;
        this.errorMessage = event.message;
      }
      return true;
    });
  }

  async addPersona({ name, category, description }: Suggestion): Promise<Persona | null> {
    const persona = await this.#runInBackground(() =>
      callApi("POST /api/personas", { body: { name, category, description } }),
    );
    if (persona) this.personaBySuggestion = new Map(this.personaBySuggestion).set(name, persona);
    return persona;
  }

  async removePersona({ name }: Suggestion): Promise<Persona | null> {
    const persona = this.personaBySuggestion.get(name);
    if (!persona) return null;
    const gone = await this.#runInBackground(async () => {
      await callApi("DELETE /api/personas/{id}", { path: { id: persona.id } });
      return persona;
    });
    if (gone) this.personaBySuggestion = new Map([...this.personaBySuggestion].filter(([one]) => one !== name));
    return gone;
  }

  goBack(): void {
    this.stop();
    this.errorMessage = "";
    this.step = this.step === "suggestions" && this.questions.length ? "questions" : "situation";
  }

  stop(): void {
    this.#abort?.abort();
  }

  async #runExclusive<T>(act: (signal: AbortSignal) => Promise<T>): Promise<T | null> {
    const leaving = new AbortController();
    this.#abort?.abort();
    this.#abort = leaving;
    this.isBusy = true;
    this.errorMessage = "";
    try {
      return await act(leaving.signal);
    } catch (error) {
      if (!leaving.signal.aborted) this.errorMessage = (error as Error).message;
      return null;
    } finally {
      if (this.#abort === leaving) this.isBusy = false;
    }
  }

  /** Run a request beside the current one. */
  async #runInBackground<T>(act: () => Promise<T>): Promise<T | null> {
    this.errorMessage = "";
    try {
      return await act();
    } catch (error) {
      this.errorMessage = (error as Error).message;
      return null;
    }
  }
}
