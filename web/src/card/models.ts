/** The models that can be asked, as the server lists them; asked for seldom, because providers are asked then. */

import { call } from "../api.ts";
import type { ProviderModels } from "../wire.ts";

const FRESH = 60_000; // milliseconds
let listed: { at: number; models: Promise<readonly ProviderModels[]> } | null = null;

export function models(): Promise<readonly ProviderModels[]> {
  if (listed && Date.now() - listed.at < FRESH) return listed.models;
  const asked = call("GET /api/models");
  listed = { at: Date.now(), models: asked };
  asked.catch(() => (listed = null));
  return asked;
}

export interface Offer {
  readonly name: string;
  readonly provider: string;
  readonly model: string;
}

/** What can be asked right now and holds all that is sought, word by word. */
export function offers(providers: readonly ProviderModels[], sought: string): readonly Offer[] {
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
  return providers
    .filter((one) => one.ready)
    .flatMap(({ provider, models }) =>
      models.map((model) => ({
        provider,
        model,
        name: model.startsWith(`${provider}/`) ? model : `${provider}/${model}`,
      })),
    )
    .filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
}
