/** Models that can be chosen, from the providers' reports, sorted by availability. */

import type { ProviderModels, ProviderStatus } from "../api/types.ts";

/** `ready`: can answer now. `key`: needs a key. `silent`: a local server that is not running. `broken`: failed. */
type Availability = "ready" | "key" | "silent" | "broken";

/** `real`: a full model. `tiny`: the embedded model included with Moot. `scripted`: plays a script. */
type ProviderKind = "real" | "tiny" | "scripted";

export interface ProviderOffer {
  readonly provider: string;
  readonly availability: Availability;
  readonly kind: ProviderKind;
  readonly models: readonly string[];
  /** The default model, if the provider has one. */
  readonly defaultModel: string | null;
  readonly note: string | null;
  readonly error: string | null;
  readonly status: ProviderStatus;
}

/** Combine each provider's model list with its known properties. */
export function buildOffers(
  statuses: readonly ProviderStatus[],
  providerModels: readonly ProviderModels[],
): readonly ProviderOffer[] {
  const found = new Map(providerModels.map((one) => [one.provider, one]));
  return statuses.flatMap((status) => {
    const one = found.get(status.name);
    return one ? [buildOffer(status, one)] : [];
  });
}

function buildOffer(status: ProviderStatus, providerModels: ProviderModels): ProviderOffer {
  return {
    provider: providerModels.provider,
    availability: resolveAvailability(status, providerModels),
    kind: status.api === "scripted" ? "scripted" : providerModels.note ? "tiny" : "real",
    models: providerModels.models,
    defaultModel: providerModels.default_model ?? providerModels.models.find(isChatModel) ?? null,
    note: providerModels.note,
    error: providerModels.error,
    status,
  };
}

function resolveAvailability(status: ProviderStatus, providerModels: ProviderModels): Availability {
  if (providerModels.ready) return "ready";
  if (providerModels.key === "missing") return "key";
  return providerModels.key === "not needed" && status.origin ? "silent" : "broken";
}

const NON_CHAT_PATTERN = /embed|whisper|tts|dall-e|image|moderation|rerank|transcri|speech|audio|realtime|guard|ocr/i;

/** Provider lists also contain embedding, image and audio models. */
function isChatModel(model: string): boolean {
  return !NON_CHAT_PATTERN.test(model);
}

/** One ready model of each provider, real ones if there are any; never a script. */
export function readyModels(offers: readonly ProviderOffer[]): readonly string[] {
  const ready = offers.filter((one) => one.availability === "ready" && one.defaultModel !== null);
  const real = ready.filter((one) => one.kind === "real");
  const chosen = real.length ? real : ready.filter((one) => one.kind === "tiny");
  const usual = chosen.map((one) => one.defaultModel ?? "");
  const more = chosen.flatMap((one) => one.models.filter(isChatModel));
  // With few providers, a second model of the same provider is better than the same model twice.
  return usual.length > 1 ? usual : [...new Set([...usual, ...more])].slice(0, 3);
}

interface OfferGroup {
  readonly offer: ProviderOffer;
  readonly models: readonly string[];
  /** Number of matches that are not shown. */
  readonly hiddenCount: number;
}

const MAX_SHOWN_MODELS = 12;

/** Matches for the typed text: every word must be in the name. Ready models come first. */
export function searchModels(offers: readonly ProviderOffer[], query: string): readonly OfferGroup[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (text: string) => words.every((word) => text.toLowerCase().includes(word));
  const rank = { real: 0, tiny: 1, scripted: 2 };
  const order = (one: ProviderOffer) => (one.availability === "ready" ? 0 : 10) + rank[one.kind];
  return [...offers]
    .sort((a, b) => order(a) - order(b))
    .map((offer) => {
      const found = orderModels(offer).filter(fits);
      const models = found.slice(0, MAX_SHOWN_MODELS);
      return { offer, models, hiddenCount: found.length - models.length };
    })
    .filter(({ offer, models }) => models.length > 0 || (offer.availability === "key" && fits(offer.provider)));
}

function orderModels(offer: ProviderOffer): readonly string[] {
  const usual = offer.defaultModel && offer.models.includes(offer.defaultModel) ? [offer.defaultModel] : [];
  const others = offer.models.filter((model) => model !== offer.defaultModel);
  return [...usual, ...others.filter(isChatModel), ...others.filter((model) => !isChatModel(model))];
}

/** Return whether a string has the form provider/model. */
export function isModelId(text: string): boolean {
  return /^[^\s/]+\/\S+$/.test(text);
}

/** Explain a model name that is in no list. */
export function explainUnlisted(offers: readonly ProviderOffer[], query: string): string {
  if (!isModelId(query)) return "No model found. Write it as provider/model, or remove a word.";
  const provider = query.slice(0, query.indexOf("/"));
  return offers.some((one) => one.provider === provider)
    ? `Not in ${provider}'s list; used as typed. Check the spelling.`
    : `No provider here is called ${provider}. Choose one of ${offers.map((one) => one.provider).join(", ")}.`;
}

/** Return whether a model is scripted. Before the providers are loaded, the built-in one is recognised by its name. */
export function isScripted(offers: readonly ProviderOffer[], model: string): boolean {
  const offer = findOffer(offers, model);
  return offer ? offer.kind === "scripted" : model.startsWith("scripted/");
}

export function findOffer(offers: readonly ProviderOffer[], model: string): ProviderOffer | null {
  return offers.find((one) => model.startsWith(`${one.provider}/`)) ?? null;
}
