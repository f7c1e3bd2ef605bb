/** The views of the page by the first piece of their path. All but the ones of a first visit are loaded when asked for. */

import type { Component } from "svelte";
import Discussion from "../discussion/Discussion.svelte";
import Start from "../start/Start.svelte";

interface View {
  title: string;
  load: () => Promise<{ default: Component }>;
}

const loaded = (component: Component) => () => Promise.resolve({ default: component });

export const VIEWS: Record<string, View> = {
  "": { title: "New discussion", load: loaded(Start) },
  d: { title: "Discussion", load: loaded(Discussion) },
  personas: { title: "Personas", load: () => import("../library/Personas.svelte") },
  projects: { title: "Projects", load: () => import("../library/Projects.svelte") },
  models: { title: "Models and keys", load: () => import("../models/Models.svelte") },
  usage: { title: "Usage", load: () => import("../money/Usage.svelte") },
};
