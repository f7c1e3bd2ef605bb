/** Providers and their models, as the server lists them. */

import { buildOffers, type ProviderOffer } from "../src/state/model-offers.ts";
import type { ProviderModels, ProviderStatus } from "../src/api/types.ts";

interface OfferInput {
  models?: readonly string[];
  key?: ProviderStatus["key"];
  api?: ProviderStatus["api"];
  origin?: string;
  note?: string;
  default_model?: string;
}

export function offer(provider: string, input: OfferInput = {}): ProviderOffer {
  const { key = "not needed", models = [], api = "openai", origin = "https://there.invalid" } = input;
  const status: ProviderStatus = { name: provider, api, origin, key, variables: [], stored_at: null };
  const listed: ProviderModels = {
    provider,
    key,
    ready: models.length > 0,
    note: input.note ?? null,
    models: models.map((model) => `${provider}/${model}`),
    default_model: input.default_model ? `${provider}/${input.default_model}` : null,
    token_rates: {},
    error: models.length ? null : "No answer.",
  };
  const [found] = buildOffers([status], [listed]);
  if (!found) throw new Error("no offer");
  return found;
}

export const OPENAI = offer("openai", {
  key: "own",
  models: ["gpt-5", "gpt-5-mini", "tts-1"],
  default_model: "gpt-5-mini",
});
export const OLLAMA = offer("ollama", {
  models: ["nomic-embed", "llama3.2"],
  origin: "http://127.0.0.1:11434",
});
export const LOCAL = offer("local", { api: "local", models: ["smollm2"], origin: "", note: "tiny" });
export const SCRIPTED = offer("scripted", {
  api: "scripted",
  origin: "",
  note: "scripts",
  models: ["advocate", "sceptic", "undecided", "teacher", "assistant", "student", "classmate"],
});
export const KEYLESS = offer("anthropic", { key: "missing" });
export const SILENT = offer("vllm", { origin: "http://127.0.0.1:8000" });
