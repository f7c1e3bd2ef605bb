/** Which models can be chosen: what the providers say of themselves, sorted by whether they can be asked now. */

import type { ProviderModels, ProviderStatus } from "../api/types.ts";

/** `ready` answers now; `key` wants one first; `silent` is a server of this machine that does not run; `broken` fails. */
type Standing = "ready" | "key" | "silent" | "broken";

/** `real` can be asked in earnest, `tiny` is the embedded one that comes with Moot, `scripted` plays a script. */
type Nature = "real" | "tiny" | "scripted";

export interface Offer {
  readonly provider: string;
  readonly standing: Standing;
  readonly nature: Nature;
  readonly models: readonly string[];
  /** The model to begin with, where there is a usual one. */
  readonly usual: string | null;
  readonly note: string | null;
  readonly error: string | null;
  readonly status: ProviderStatus;
}

/** Put what was asked of every provider to what is known of it. */
export function offersOf(
  statuses: readonly ProviderStatus[],
  asked: readonly ProviderModels[],
): readonly Offer[] {
  const found = new Map(asked.map((one) => [one.provider, one]));
  return statuses.flatMap((status) => {
    const one = found.get(status.name);
    return one ? [offerOf(status, one)] : [];
  });
}

function offerOf(status: ProviderStatus, asked: ProviderModels): Offer {
  return {
    provider: asked.provider,
    standing: standingOf(status, asked),
    nature: status.api === "scripted" ? "scripted" : asked.note ? "tiny" : "real",
    models: asked.models,
    usual: asked.usual ?? asked.models.find(talks) ?? null,
    note: asked.note,
    error: asked.error,
    status,
  };
}

function standingOf(status: ProviderStatus, asked: ProviderModels): Standing {
  if (asked.ready) return "ready";
  if (asked.key === "missing") return "key";
  return asked.key === "not needed" && status.origin ? "silent" : "broken";
}

const MUTE = /embed|whisper|tts|dall-e|image|moderation|rerank|transcri|speech|audio|realtime|guard|ocr/i;

/** Lists also name models that make vectors, pictures or sound. */
function talks(model: string): boolean {
  return !MUTE.test(model);
}

/** One model of every provider that can be asked now, in earnest where there is one; never a script. */
export function readyModels(offers: readonly Offer[]): readonly string[] {
  const ready = offers.filter((one) => one.standing === "ready" && one.usual !== null);
  const real = ready.filter((one) => one.nature === "real");
  const chosen = real.length ? real : ready.filter((one) => one.nature === "tiny");
  const usual = chosen.map((one) => one.usual ?? "");
  const more = chosen.flatMap((one) => one.models.filter(talks));
  // A second model of the same provider is better company than the same one again, but only where there are few.
  return usual.length > 1 ? usual : [...new Set([...usual, ...more])].slice(0, 3);
}

interface Group {
  readonly offer: Offer;
  readonly models: readonly string[];
  /** How many more fit that are not shown. */
  readonly more: number;
}

const MOST_SHOWN = 12;

/** What is shown for what was typed: every word must be in the name. What can be asked now comes first. */
export function search(offers: readonly Offer[], typed: string): readonly Group[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (text: string) => words.every((word) => text.toLowerCase().includes(word));
  const rank = { real: 0, tiny: 1, scripted: 2 };
  const order = (one: Offer) => (one.standing === "ready" ? 0 : 10) + rank[one.nature];
  return [...offers]
    .sort((a, b) => order(a) - order(b))
    .map((offer) => {
      const found = preferred(offer).filter(fits);
      const models = found.slice(0, MOST_SHOWN);
      return { offer, models, more: found.length - models.length };
    })
    .filter(({ offer, models }) => models.length > 0 || (offer.standing === "key" && fits(offer.provider)));
}

function preferred(offer: Offer): readonly string[] {
  const usual = offer.usual && offer.models.includes(offer.usual) ? [offer.usual] : [];
  const others = offer.models.filter((model) => model !== offer.usual);
  return [...usual, ...others.filter(talks), ...others.filter((model) => !talks(model))];
}

/** Whether a model is written as one is asked for. */
export function isModel(text: string): boolean {
  return /^[^\s/]+\/\S+$/.test(text);
}

/** What to do with a name that no list has. */
export function unlisted(offers: readonly Offer[], typed: string): string {
  if (!isModel(typed)) return "Nothing of that name is listed. Write it as provider/model, or remove a word.";
  const provider = typed.slice(0, typed.indexOf("/"));
  return offers.some((one) => one.provider === provider)
    ? `${provider} does not list it. It is asked for as you wrote it: compare it with how ${provider} writes it.`
    : `No provider here is called ${provider}. Choose one of ${offers.map((one) => one.provider).join(", ")}.`;
}

/** Whether a model only plays a script; where the providers are not known yet, the built-in one goes by its name. */
export function isScripted(offers: readonly Offer[], model: string): boolean {
  const offer = offerFor(offers, model);
  return offer ? offer.nature === "scripted" : model.startsWith("scripted/");
}

export function offerFor(offers: readonly Offer[], model: string): Offer | null {
  return offers.find((one) => model.startsWith(`${one.provider}/`)) ?? null;
}
