/** Changes to presets. Replacing and deleting can be undone. */

import { callApi } from "../../api/client.ts";
import { toasts } from "../../stores/toasts.svelte.ts";
import type { Preset } from "../../api/types.ts";
import { catalog } from "../../stores/catalog.svelte.ts";
import { toSetupPayload, toSetup, type DiscussionSetup } from "../participants/setup.ts";

/** Save a setup under an unused name. */
export async function addPreset(name: string, setup: DiscussionSetup): Promise<void> {
  await callApi("POST /api/presets", { body: { name, ...toSetupPayload(setup, catalog.personas) } });
  await catalog.loadPresets();
}

/** Replace a preset. The undo restores the old one. */
export async function replacePreset(one: Preset, setup: DiscussionSetup): Promise<void> {
  const before = toSetup(one);
  await updatePreset(one.id, setup);
  await catalog.loadPresets();
  toasts.show(`${one.name} was replaced.`, {
    undo: () => runWithToast(updatePreset(one.id, before), `${one.name} was restored.`),
  });
}

/** Delete a preset. The undo restores it under the same name. */
export async function removePreset(one: Preset): Promise<void> {
  const body = { name: one.name, ...toSetupPayload(toSetup(one), catalog.personas) };
  await callApi("DELETE /api/presets/{id}", { path: { id: one.id } });
  await catalog.loadPresets();
  toasts.show(`${one.name} was deleted.`, {
    undo: () => runWithToast(callApi("POST /api/presets", { body }), `${one.name} was restored.`),
  });
}

async function updatePreset(id: string, setup: DiscussionSetup): Promise<void> {
  await callApi("PATCH /api/presets/{id}", { path: { id }, body: toSetupPayload(setup, catalog.personas) });
}

async function runWithToast(work: Promise<unknown>, words: string): Promise<void> {
  try {
    await work;
    await catalog.loadPresets();
    toasts.show(words);
  } catch (error) {
    toasts.showError(error);
  }
}
