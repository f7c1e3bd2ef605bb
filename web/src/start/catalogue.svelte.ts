/** What there is to choose from: models, personas, projects, kept line-ups. Read when a view needs it, and kept. */

import { call } from "../api.ts";
import type { LineUp, Persona, Project } from "../wire.ts";
import { offersOf, type Offer } from "./models.ts";

const PAGE = 100;

class Catalogue {
  /** Null until the providers have been asked. */
  offers = $state.raw<readonly Offer[] | null>(null);
  personas = $state.raw<readonly Persona[]>([]);
  projects = $state.raw<readonly Project[]>([]);
  lineUps = $state.raw<readonly LineUp[]>([]);
  /** Why the models are not known. */
  trouble = $state.raw("");

  /** Read everything anew; what is known already stays until then. */
  async read(): Promise<void> {
    await Promise.all([this.readModels(), this.#readPersonas(), this.#readProjects(), this.readLineUps()]);
  }

  /** Ask all providers, or one of them, for its models. */
  async readModels(provider?: string): Promise<void> {
    try {
      const [statuses, asked] = await Promise.all([
        call("GET /api/providers"),
        call("GET /api/models", { query: { provider } }),
      ]);
      const found = offersOf(statuses, asked);
      const changed = new Map(found.map((offer) => [offer.provider, offer]));
      this.offers = provider
        ? (this.offers ?? []).map((offer) => changed.get(offer.provider) ?? offer)
        : found;
      this.trouble = "";
    } catch (error) {
      this.trouble = (error as Error).message;
    }
  }

  async readLineUps(): Promise<void> {
    const page = await call("GET /api/line-ups", { query: { limit: PAGE } }).catch(() => null);
    if (page) this.lineUps = page.line_ups;
  }

  async #readPersonas(): Promise<void> {
    const page = await call("GET /api/personas", { query: { limit: PAGE } }).catch(() => null);
    if (page) this.personas = page.personas;
  }

  async #readProjects(): Promise<void> {
    const page = await call("GET /api/projects", { query: { limit: PAGE } }).catch(() => null);
    if (page) this.projects = page.projects;
  }
}

export const catalogue = new Catalogue();
