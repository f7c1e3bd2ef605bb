/** Provider names, and how to make their models available. */

import type { ProviderOffer } from "./model-offers.ts";

interface ProviderInfo {
  readonly title: string;
  /** Page where users create a key. */
  readonly keysUrl?: string;
  /** Command that starts a local server. */
  readonly startCommand?: string;
}

const PROVIDERS: Record<string, ProviderInfo> = {
  anthropic: { title: "Anthropic", keysUrl: "https://console.anthropic.com/settings/keys" },
  openai: { title: "OpenAI", keysUrl: "https://platform.openai.com/api-keys" },
  google: { title: "Google Gemini", keysUrl: "https://aistudio.google.com/apikey" },
  openrouter: { title: "OpenRouter", keysUrl: "https://openrouter.ai/keys" },
  groq: { title: "Groq", keysUrl: "https://console.groq.com/keys" },
  deepseek: { title: "DeepSeek", keysUrl: "https://platform.deepseek.com/api_keys" },
  mistral: { title: "Mistral", keysUrl: "https://console.mistral.ai/api-keys" },
  ollama: { title: "Ollama", startCommand: "ollama serve" },
  lmstudio: { title: "LM Studio", startCommand: "lms server start" },
  llamacpp: { title: "llama.cpp", startCommand: "llama-server -m model.gguf" },
  vllm: { title: "vLLM", startCommand: "vllm serve MODEL" },
  local: { title: "Embedded model" },
  scripted: { title: "Scripts" },
};

export function providerInfo(provider: string): ProviderInfo {
  return PROVIDERS[provider] ?? { title: provider };
}

/** Capitalise a server note and add a full stop. */
export function toSentence(note: string): string {
  return `${note.charAt(0).toUpperCase()}${note.slice(1)}.`;
}

export const isLocalProvider = (offer: ProviderOffer): boolean =>
  offer.status.key === "not needed" && /^https?:\/\/(127\.|localhost|\[::1\])/.test(offer.status.origin);

/** Describe a provider's availability in one sentence. */
export function describeAvailability(offer: ProviderOffer): string {
  const count = offer.models.length === 1 ? "1 model" : `${offer.models.length} models`;
  switch (offer.availability) {
    case "ready":
      return `${count} ready. ${describeKeySource(offer)}`.trim();
    case "key":
      return "Needs a key.";
    case "silent":
      return offer.error
        ? `Not running at ${providerHost(offer)}.`
        : `Running at ${providerHost(offer)}, no models yet.`;
    default:
      return offer.error ?? "No models.";
  }
}

const providerHost = (offer: ProviderOffer): string => offer.status.origin.replace(/^https?:\/\//, "");

function describeKeySource(offer: ProviderOffer): string {
  if (offer.status.key === "own") return "Your own key is used.";
  if (offer.status.key === "server") return "The key of this server is used.";
  return isLocalProvider(offer) ? `Found at ${providerHost(offer)}.` : "";
}
