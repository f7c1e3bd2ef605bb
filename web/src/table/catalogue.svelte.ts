/** What there is to choose from: personas, projects, kept line-ups. Read when a view needs it, and kept. */

import { call } from "../api.ts";
import { models } from "../models/models.svelte.ts";
import type { LineUp, Persona, Project } from "../wire.ts";

const PAGE = 100;

class Catalogue {
  personas = $state.raw<readonly Persona[]>([]);
  projects = $state.raw<readonly Project[]>([]);
  lineUps = $state.raw<readonly LineUp[]>([]);

  /** Read everything anew, the models too; what is known already stays until then. */
  async read(): Promise<void> {
    await Promise.all([models.read(), this.#readPersonas(), this.#readProjects(), this.readLineUps()]);
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
