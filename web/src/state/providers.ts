/** What providers are called, and what to do to hear their models. */

import type { Offer } from "./model-offers.ts";

interface About {
  readonly title: string;
  /** Where a key is made. */
  readonly keys?: string;
  /** How a server of this machine is started. */
  readonly start?: string;
}

const KNOWN: Record<string, About> = {
  anthropic: { title: "Anthropic", keys: "https://console.anthropic.com/settings/keys" },
  openai: { title: "OpenAI", keys: "https://platform.openai.com/api-keys" },
  google: { title: "Google Gemini", keys: "https://aistudio.google.com/apikey" },
  openrouter: { title: "OpenRouter", keys: "https://openrouter.ai/keys" },
  groq: { title: "Groq", keys: "https://console.groq.com/keys" },
  deepseek: { title: "DeepSeek", keys: "https://platform.deepseek.com/api_keys" },
  mistral: { title: "Mistral", keys: "https://console.mistral.ai/api-keys" },
  ollama: { title: "Ollama", start: "ollama serve" },
  lmstudio: { title: "LM Studio", start: "lms server start" },
  llamacpp: { title: "llama.cpp", start: "llama-server -m model.gguf" },
  vllm: { title: "vLLM", start: "vllm serve MODEL" },
  local: { title: "Embedded model" },
  scripted: { title: "Scripts" },
};

export function about(provider: string): About {
  return KNOWN[provider] ?? { title: provider };
}

/** Notes of the server begin small, and have no full stop. */
export function sentence(note: string): string {
  return `${note.charAt(0).toUpperCase()}${note.slice(1)}.`;
}

export const isHere = (offer: Offer): boolean =>
  offer.status.key === "not needed" && /^https?:\/\/(127\.|localhost|\[::1\])/.test(offer.status.origin);

/** How it stands with a provider, in one plain sentence. */
export function standing(offer: Offer): string {
  const count = offer.models.length === 1 ? "1 model" : `${offer.models.length} models`;
  switch (offer.standing) {
    case "ready":
      return `${count} ready. ${whose(offer)}`.trim();
    case "key":
      return "Needs a key before it can be asked.";
    case "silent":
      return offer.error
        ? `Not running at ${host(offer)}.`
        : `It runs at ${host(offer)}, and has no models yet.`;
    default:
      return offer.error ?? "It has no models.";
  }
}

const host = (offer: Offer): string => offer.status.origin.replace(/^https?:\/\//, "");

function whose(offer: Offer): string {
  if (offer.status.key === "own") return "Your own key is used.";
  if (offer.status.key === "server") return "The key of this server is used.";
  return isHere(offer) ? `Found at ${host(offer)}.` : "";
}
