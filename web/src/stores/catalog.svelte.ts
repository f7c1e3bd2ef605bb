/** What there is to choose from: personas, projects, kept line-ups. Read when a view needs it, and kept. */

import { callApi } from "../api/client.ts";
import { readAllPages } from "../api/paginate.ts";
import { modelStore } from "./models.svelte.ts";
import type { Preset, Persona, Project } from "../api/types.ts";

const limit = 100;

class Catalog {
  personas = $state.raw<readonly Persona[]>([]);
  projects = $state.raw<readonly Project[]>([]);
  presets = $state.raw<readonly Preset[]>([]);
  /** Whether all of it has been asked for, even if some of it could not be had. */
  isLoaded = $state(false);

  /** Read everything anew, the models too; what is known already stays until then. */
  async loadAll(): Promise<void> {
    const lists = Promise.all([this.#loadPersonas(), this.#loadProjects(), this.loadPresets()]);
    void lists.then(() => (this.isLoaded = true));
    await Promise.all([modelStore.load(), lists]);
  }

  async loadPresets(): Promise<void> {
    this.presets = await readAllPages(
      (cursor) => callApi("GET /api/line-ups", { query: { cursor, limit } }),
      (page) => page.line_ups,
    ).catch(() => this.presets);
  }

  /** Find the line-up that is kept under a name; nobody tells them apart by capitals. */
  findPreset(name: string): Preset | undefined {
    const sought = name.trim().toLowerCase();
    return this.presets.find((one) => one.name.toLowerCase() === sought);
  }

  async #loadPersonas(): Promise<void> {
    this.personas = await readAllPages(
      (cursor) => callApi("GET /api/personas", { query: { cursor, limit } }),
      (page) => page.personas,
    ).catch(() => this.personas);
  }

  async #loadProjects(): Promise<void> {
    this.projects = await readAllPages(
      (cursor) => callApi("GET /api/projects", { query: { cursor, limit } }),
      (page) => page.projects,
    ).catch(() => this.projects);
  }
}

export const catalog = new Catalog();
