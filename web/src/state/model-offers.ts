/** Which models can be chosen: what the providers say of themselves, sorted by whether they can be asked now. */

import type { ProviderModels, ProviderStatus } from "../api/types.ts";

/** `ready` answers now; `key` wants one first; `silent` is a server of this machine that does not run; `broken` fails. */
type Availability = "ready" | "key" | "silent" | "broken";

/** `real` can be asked in earnest, `tiny` is the embedded one that comes with Moot, `scripted` plays a script. */
type ProviderKind = "real" | "tiny" | "scripted";

export interface ProviderOffer {
  readonly provider: string;
  readonly availability: Availability;
  readonly kind: ProviderKind;
  readonly models: readonly string[];
  /** The model to begin with, where there is a usual one. */
  readonly defaultModel: string | null;
  readonly note: string | null;
  readonly error: string | null;
  readonly status: ProviderStatus;
}

/** Put what was asked of every provider to what is known of it. */
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
    defaultModel: providerModels.usual ?? providerModels.models.find(isChatModel) ?? null,
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

const NON_CHAT_PATTERN =
  /embed|whisper|tts|dall-e|image|moderation|rerank|transcri|speech|audio|realtime|guard|ocr/i;

/** Lists also name models that make vectors, pictures or sound. */
function isChatModel(model: string): boolean {
  return !NON_CHAT_PATTERN.test(model);
}

/** One model of every provider that can be asked now, in earnest where there is one; never a script. */
export function readyModels(offers: readonly ProviderOffer[]): readonly string[] {
  const ready = offers.filter((one) => one.availability === "ready" && one.defaultModel !== null);
  const real = ready.filter((one) => one.kind === "real");
  const chosen = real.length ? real : ready.filter((one) => one.kind === "tiny");
  const usual = chosen.map((one) => one.defaultModel ?? "");
  const more = chosen.flatMap((one) => one.models.filter(isChatModel));
  // A second model of the same provider is better company than the same one again, but only where there are few.
  return usual.length > 1 ? usual : [...new Set([...usual, ...more])].slice(0, 3);
}

interface OfferGroup {
  readonly offer: ProviderOffer;
  readonly models: readonly string[];
  /** How many more fit that are not shown. */
  readonly hiddenCount: number;
}

const MAX_SHOWN_MODELS = 12;

/** What is shown for what was typed: every word must be in the name. What can be asked now comes first. */
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
    .filter(
      ({ offer, models }) => models.length > 0 || (offer.availability === "key" && fits(offer.provider)),
    );
}

function orderModels(offer: ProviderOffer): readonly string[] {
  const usual = offer.defaultModel && offer.models.includes(offer.defaultModel) ? [offer.defaultModel] : [];
  const others = offer.models.filter((model) => model !== offer.defaultModel);
  return [...usual, ...others.filter(isChatModel), ...others.filter((model) => !isChatModel(model))];
}

/** Whether a model is written as one is asked for. */
export function isModelId(text: string): boolean {
  return /^[^\s/]+\/\S+$/.test(text);
}

/** What to do with a name that no list has. */
export function explainUnlisted(offers: readonly ProviderOffer[], query: string): string {
  if (!isModelId(query))
    return "Nothing of that name is listed. Write it as provider/model, or remove a word.";
  const provider = query.slice(0, query.indexOf("/"));
  return offers.some((one) => one.provider === provider)
    ? `${provider} does not list it. It is asked for as you wrote it: compare it with how ${provider} writes it.`
    : `No provider here is called ${provider}. Choose one of ${offers.map((one) => one.provider).join(", ")}.`;
}

/** Whether a model only plays a script; where the providers are not known yet, the built-in one goes by its name. */
export function isScripted(offers: readonly ProviderOffer[], model: string): boolean {
  const offer = findOffer(offers, model);
  return offer ? offer.kind === "scripted" : model.startsWith("scripted/");
}

export function findOffer(offers: readonly ProviderOffer[], model: string): ProviderOffer | null {
  return offers.find((one) => model.startsWith(`${one.provider}/`)) ?? null;
}
