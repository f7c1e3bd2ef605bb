/** What providers are called, and what to do to hear their models. */

import type { ProviderOffer } from "./model-offers.ts";

interface ProviderInfo {
  readonly title: string;
  /** Where a key is made. */
  readonly keysUrl?: string;
  /** How a server of this machine is started. */
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

/** Notes of the server begin small, and have no full stop. */
export function toSentence(note: string): string {
  return `${note.charAt(0).toUpperCase()}${note.slice(1)}.`;
}

export const isLocalProvider = (offer: ProviderOffer): boolean =>
  offer.status.key === "not needed" && /^https?:\/\/(127\.|localhost|\[::1\])/.test(offer.status.origin);

/** How it stands with a provider, in one plain sentence. */
export function describeAvailability(offer: ProviderOffer): string {
  const count = offer.models.length === 1 ? "1 model" : `${offer.models.length} models`;
  switch (offer.availability) {
    case "ready":
      return `${count} ready. ${describeKeySource(offer)}`.trim();
    case "key":
      return "Needs a key before it can be asked.";
    case "silent":
      return offer.error
        ? `Not running at ${providerHost(offer)}.`
        : `It runs at ${providerHost(offer)}, and has no models yet.`;
    default:
      return offer.error ?? "It has no models.";
  }
}

const providerHost = (offer: ProviderOffer): string => offer.status.origin.replace(/^https?:\/\//, "");

function describeKeySource(offer: ProviderOffer): string {
  if (offer.status.key === "own") return "Your own key is used.";
  if (offer.status.key === "server") return "The key of this server is used.";
  return isLocalProvider(offer) ? `Found at ${providerHost(offer)}.` : "";
}
