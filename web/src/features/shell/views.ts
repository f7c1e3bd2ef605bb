/** Views by the first path segment. All but those of a first visit are loaded on demand. */

import type { Component } from "svelte";
import Discussion from "../discussion/Discussion.svelte";
import NewDiscussion from "../new-discussion/NewDiscussion.svelte";

interface View {
  title: string;
  load: () => Promise<{ default: Component }>;
}

const loadEagerly = (component: Component) => () => Promise.resolve({ default: component });

export const VIEWS: Record<string, View> = {
  "": { title: "New discussion", load: loadEagerly(NewDiscussion) },
  d: { title: "Discussion", load: loadEagerly(Discussion) },
  personas: { title: "Personas", load: () => import("../library/personas/Personas.svelte") },
  projects: { title: "Projects", load: () => import("../library/projects/Projects.svelte") },
  models: { title: "Models and keys", load: () => import("../models/Models.svelte") },
  usage: { title: "Usage", load: () => import("../usage/Usage.svelte") },
};
