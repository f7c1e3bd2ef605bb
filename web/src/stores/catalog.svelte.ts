/** Personas, projects and presets. Loaded when a view needs them, then cached. */

import { readAllPages } from "../api/paginate.ts";
import { modelStore } from "./models.svelte.ts";
import type { Preset, Persona, Project } from "../api/types.ts";

class Catalog {
  personas = $state.raw<readonly Persona[]>([]);
  projects = $state.raw<readonly Project[]>([]);
  presets = $state.raw<readonly Preset[]>([]);
  /** Whether everything was requested, even if some requests failed. */
  isLoaded = $state(false);

  /** Reload everything, including the models. Cached values stay until then. */
  async loadAll(): Promise<void> {
    const lists = Promise.all([this.#loadPersonas(), this.#loadProjects(), this.loadPresets()]);
    void lists.then(() => (this.isLoaded = true));
    await Promise.all([modelStore.load(), lists]);
  }

  async loadPresets(): Promise<void> {
    this.presets = await readAllPages("GET /api/presets", (page) => page.presets).catch(() => this.presets);
  }

  /** Find a preset by name, ignoring case. */
  findPreset(name: string): Preset | undefined {
    const sought = name.trim().toLowerCase();
    return this.presets.find((one) => one.name.toLowerCase() === sought);
  }

  async #loadPersonas(): Promise<void> {
    this.personas = await readAllPages("GET /api/personas", (page) => page.personas).catch(() => this.personas);
  }

  async #loadProjects(): Promise<void> {
    this.projects = await readAllPages("GET /api/projects", (page) => page.projects).catch(() => this.projects);
  }
}

export const catalog = new Catalog();
