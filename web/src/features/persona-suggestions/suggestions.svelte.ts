/** State of the persona wizard: situation, questions, proposals, created personas. */

import { callApi } from "../../api/client.ts";
import { streamCall } from "../../api/event-stream.ts";
import type { Persona, Proposal } from "../../api/types.ts";

type WizardStep = "situation" | "questions" | "proposals";

export class SuggestionWizard {
  step = $state.raw<WizardStep>("situation");
  situation = $state("");
  model = $state("");
  questions = $state.raw<readonly string[]>([]);
  answers = $state<string[]>([]);
  proposals = $state.raw<readonly Proposal[]>([]);
  /** Rejected proposals, with reasons. */
  rejectedProposals = $state.raw<readonly { name: string; reason: string }[]>([]);
  /** Created personas by the name of the proposal. */
  personaByProposal = $state.raw<ReadonlyMap<string, Persona>>(new Map());
  isBusy = $state.raw(false);
  errorMessage = $state.raw("");
  #abort: AbortController | null = null;

  /** Request questions. If there are none, request proposals at once. */
  async askQuestions(): Promise<void> {
    const asked = await this.#runExclusive(async (signal) => {
      const body = { situation: this.situation.trim(), model: this.model.trim() };
      return (await callApi("POST /api/persona-suggestions/questions", { body, signal })).questions;
    });
    if (!asked) return;
    this.questions = asked;
    this.answers = asked.map(() => "");
    if (asked.length) this.step = "questions";
    else await this.propose();
  }

  async propose(): Promise<void> {
    this.step = "proposals";
    this.proposals = [];
    this.rejectedProposals = [];
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
        if (event.type === "proposal") this.proposals = [...this.proposals, event.proposal];
        if (event.type !== "done") continue;
        this.rejectedProposals = event.dropped;
        this.errorMessage = event.message;
      }
      return true;
    });
  }

  async addPersona({ name, category, description }: Proposal): Promise<Persona | null> {
    const persona = await this.#runInBackground(() =>
      callApi("POST /api/personas", { body: { name, category, description } }),
    );
    if (persona) this.personaByProposal = new Map(this.personaByProposal).set(name, persona);
    return persona;
  }

  async removePersona({ name }: Proposal): Promise<Persona | null> {
    const persona = this.personaByProposal.get(name);
    if (!persona) return null;
    const gone = await this.#runInBackground(async () => {
      await callApi("DELETE /api/personas/{id}", { path: { id: persona.id } });
      return persona;
    });
    if (gone) this.personaByProposal = new Map([...this.personaByProposal].filter(([one]) => one !== name));
    return gone;
  }

  goBack(): void {
    this.stop();
    this.errorMessage = "";
    this.step = this.step === "proposals" && this.questions.length ? "questions" : "situation";
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
