/** What there is to choose from: personas, projects, kept line-ups. Read when a view needs it, and kept. */

import { call } from "../api/client.ts";
import { everyPage } from "../api/paginate.ts";
import { models } from "./models.svelte.ts";
import type { LineUp, Persona, Project } from "../api/types.ts";

const limit = 100;

class Catalogue {
  personas = $state.raw<readonly Persona[]>([]);
  projects = $state.raw<readonly Project[]>([]);
  lineUps = $state.raw<readonly LineUp[]>([]);
  /** Whether all of it has been asked for, even if some of it could not be had. */
  isRead = $state(false);

  /** Read everything anew, the models too; what is known already stays until then. */
  async read(): Promise<void> {
    const lists = Promise.all([this.#readPersonas(), this.#readProjects(), this.readLineUps()]);
    void lists.then(() => (this.isRead = true));
    await Promise.all([models.read(), lists]);
  }

  async readLineUps(): Promise<void> {
    this.lineUps = await everyPage(
      (cursor) => call("GET /api/line-ups", { query: { cursor, limit } }),
      (page) => page.line_ups,
    ).catch(() => this.lineUps);
  }

  /** Find the line-up that is kept under a name; nobody tells them apart by capitals. */
  lineUpOf(name: string): LineUp | undefined {
    const sought = name.trim().toLowerCase();
    return this.lineUps.find((one) => one.name.toLowerCase() === sought);
  }

  async #readPersonas(): Promise<void> {
    this.personas = await everyPage(
      (cursor) => call("GET /api/personas", { query: { cursor, limit } }),
      (page) => page.personas,
    ).catch(() => this.personas);
  }

  async #readProjects(): Promise<void> {
    this.projects = await everyPage(
      (cursor) => call("GET /api/projects", { query: { cursor, limit } }),
      (page) => page.projects,
    ).catch(() => this.projects);
  }
}

export const catalogue = new Catalogue();
