/** From a situation to voices for it: told, asked back, proposed, and made personas. */

import { call } from "../../api/client.ts";
import { told } from "../../api/stream-call.ts";
import type { Persona, Proposal } from "../../api/types.ts";

type Step = "situation" | "questions" | "proposals";

export class Wizard {
  step = $state.raw<Step>("situation");
  situation = $state("");
  model = $state("");
  questions = $state.raw<readonly string[]>([]);
  answers = $state<string[]>([]);
  proposals = $state.raw<readonly Proposal[]>([]);
  /** What was left out, and why. */
  dropped = $state.raw<readonly { name: string; reason: string }[]>([]);
  /** The personas that were made, by the names of the proposals. */
  added = $state.raw<ReadonlyMap<string, Persona>>(new Map());
  isBusy = $state.raw(false);
  trouble = $state.raw("");
  #leaving: AbortController | null = null;

  /** Be asked back; where there is nothing to ask, proposals come at once. */
  async ask(): Promise<void> {
    const asked = await this.#try(async (signal) => {
      const body = { situation: this.situation.trim(), model: this.model.trim() };
      return (await call("POST /api/perspectives/questions", { body, signal })).questions;
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
    this.dropped = [];
    await this.#try(async (signal) => {
      const body = {
        situation: this.situation.trim(),
        model: this.model.trim(),
        answers: this.questions.flatMap((question, place) => {
          const answer = this.answers[place]?.trim();
          return answer ? [{ question, answer }] : [];
        }),
      };
      for await (const event of told("POST /api/perspectives", { body, signal })) {
        if (event.type === "proposal") this.proposals = [...this.proposals, event.proposal];
        if (event.type !== "done") continue;
        this.dropped = event.dropped;
        this.trouble = event.message;
      }
      return true;
    });
  }

  async add({ name, category, description }: Proposal): Promise<Persona | null> {
    const persona = await this.#quietly(() =>
      call("POST /api/personas", { body: { name, category, description } }),
    );
    if (persona) this.added = new Map(this.added).set(name, persona);
    return persona;
  }

  async remove({ name }: Proposal): Promise<Persona | null> {
    const persona = this.added.get(name);
    if (!persona) return null;
    const gone = await this.#quietly(async () => {
      await call("DELETE /api/personas/{id}", { path: { id: persona.id } });
      return persona;
    });
    if (gone) this.added = new Map([...this.added].filter(([one]) => one !== name));
    return gone;
  }

  back(): void {
    this.stop();
    this.trouble = "";
    this.step = this.step === "proposals" && this.questions.length ? "questions" : "situation";
  }

  stop(): void {
    this.#leaving?.abort();
  }

  async #try<T>(act: (signal: AbortSignal) => Promise<T>): Promise<T | null> {
    const leaving = new AbortController();
    this.#leaving?.abort();
    this.#leaving = leaving;
    this.isBusy = true;
    this.trouble = "";
    try {
      return await act(leaving.signal);
    } catch (error) {
      if (!leaving.signal.aborted) this.trouble = (error as Error).message;
      return null;
    } finally {
      if (this.#leaving === leaving) this.isBusy = false;
    }
  }

  /** Do something beside what goes on. */
  async #quietly<T>(act: () => Promise<T>): Promise<T | null> {
    this.trouble = "";
    try {
      return await act();
    } catch (error) {
      this.trouble = (error as Error).message;
      return null;
    }
  }
}
