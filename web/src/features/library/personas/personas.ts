/** Personas in the library: search, grouping, and conversion from the editor. */

import type { Persona, PersonaDraft } from "../../../api/types.ts";

export interface PersonaGroup {
  readonly title: string;
  readonly personas: readonly Persona[];
}

/** Find personas that contain every word. */
export function searchPersonas(personas: readonly Persona[], search: string): readonly Persona[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return personas.filter((one) => {
    const text = [one.name, one.description, one.category, ...one.traits, ...one.specialisations, one.system_prompt]
      .join("\n")
      .toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** The user's own first, newest first; then the included ones by category and name. */
export function groupPersonas(personas: readonly Persona[]): readonly PersonaGroup[] {
  const own = personas.filter((one) => !one.builtin);
  const builtin = personas
    .filter((one) => one.builtin)
    .sort((a, b) => a.category.localeCompare(b.category) || a.name.localeCompare(b.name));
  return [
    { title: "Your own", personas: own },
    { title: "Included with Moot", personas: builtin },
  ].filter((group) => group.personas.length);
}

/** Values of the editor; lists are separated by commas. */
export interface PersonaForm {
  name: string;
  description: string;
  system_prompt: string;
  traits: string;
  specialisations: string;
  category: string;
  colour: string;
}

export function toPersonaForm(persona: Persona | null): PersonaForm {
  return {
    name: persona?.name ?? "",
    description: persona?.description ?? "",
    system_prompt: persona?.system_prompt ?? "",
    traits: persona?.traits.join(", ") ?? "",
    specialisations: persona?.specialisations.join(", ") ?? "",
    category: persona?.category ?? "",
    colour: persona?.colour ?? "",
  };
}

export function toPersonaDraft(form: PersonaForm): Required<PersonaDraft> {
  return {
    name: form.name.trim(),
    description: form.description.trim(),
    system_prompt: form.system_prompt.trim(),
    traits: parseLabels(form.traits),
    specialisations: parseLabels(form.specialisations),
    category: form.category.trim(),
    colour: form.colour,
  };
}

/** Return what is missing, or an empty string. */
export function validatePersona(form: PersonaForm): string {
  if (!form.name.trim()) return "Enter a name.";
  if (!form.description.trim() && !form.system_prompt.trim()) {
    return "Write a description or a system prompt.";
  }
  const long = [...parseLabels(form.traits), ...parseLabels(form.specialisations)].find((one) => one.length > 60);
  return long ? `“${long.slice(0, 30)}…” is too long: put commas between traits.` : "";
}

/** Find an unused name for a copy. */
export function copyName(name: string, usedNames: readonly string[]): string {
  const names = new Set(usedNames.map((one) => one.toLowerCase()));
  for (let count = 2; ; count++) {
    const ending = count === 2 ? " (copy)" : ` (copy ${count - 1})`;
    const found = name.slice(0, 60 - ending.length) + ending;
    if (!names.has(found.toLowerCase())) return found;
  }
}

export function parseLabels(text: string): readonly string[] {
  const some = text
    .split(",")
    .map((one) => one.trim())
    .filter(Boolean);
  return [...new Set(some)].slice(0, 20);
}
