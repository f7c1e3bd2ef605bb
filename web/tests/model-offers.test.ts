import assert from "node:assert/strict";
import { test } from "node:test";
import { isModelId, isScripted, readyModels, searchModels, explainUnlisted } from "../src/state/model-offers.ts";
import { isLocalProvider, describeAvailability } from "../src/state/providers.ts";
import { KEYLESS, LOCAL, OLLAMA, OPENAI, SCRIPTED, SILENT, offer } from "./providers.ts";

test("each provider has an availability and a description of it", () => {
  const all = [OPENAI, OLLAMA, KEYLESS, SILENT, offer("bad", { key: "own" })];
  assert.deepEqual(
    all.map((one) => one.availability),
    ["ready", "ready", "key", "silent", "broken"],
  );
  assert.equal(describeAvailability(OPENAI), "3 models ready. Your own key is used.");
  assert.equal(describeAvailability(OLLAMA), "2 models ready. Found at 127.0.0.1:11434.");
  assert.equal(describeAvailability(SILENT), "Not running at 127.0.0.1:8000.");
  assert.equal(describeAvailability(KEYLESS), "Needs a key.");
  assert.equal(isLocalProvider(OLLAMA), true);
  assert.equal(isLocalProvider(OPENAI), false);
});

test("ready models are one chat model of each provider", () => {
  assert.deepEqual(readyModels([KEYLESS, OPENAI, OLLAMA, LOCAL, SCRIPTED]), ["openai/gpt-5-mini", "ollama/llama3.2"]);
});

test("a single provider gives several models", () => {
  assert.deepEqual(readyModels([OPENAI, LOCAL]), ["openai/gpt-5-mini", "openai/gpt-5"]);
});

test("without a key, only the local model is ready, and never a scripted one", () => {
  assert.deepEqual(readyModels([KEYLESS, LOCAL, SCRIPTED]), ["local/smollm2"]);
  assert.deepEqual(readyModels([KEYLESS, SCRIPTED]), []);
});

test("a search lists ready providers first, with the default model on top, then those without a key", () => {
  const found = searchModels([KEYLESS, SCRIPTED, OPENAI], "");
  assert.deepEqual(
    found.map((group) => group.offer.provider),
    ["openai", "scripted", "anthropic"],
  );
  assert.deepEqual(found[0]?.models, ["openai/gpt-5-mini", "openai/gpt-5", "openai/tts-1"]);
});

test("a long list is shortened and has the number of hidden models", () => {
  const models = Array.from({ length: 22 }, (_, place) => `scripted/${place}`);
  const [found] = searchModels([{ ...SCRIPTED, models, defaultModel: null }], "");
  assert.deepEqual([found?.models.length, found?.hiddenCount], [12, 10]);
});

test("a search finds models that contain every word", () => {
  assert.deepEqual(
    searchModels([KEYLESS, SCRIPTED, OPENAI], "GPT mini").map((group) => group.models),
    [["openai/gpt-5-mini"]],
  );
  assert.deepEqual(
    searchModels([KEYLESS, OPENAI], "anthr").map((group) => group.offer.provider),
    ["anthropic"],
  );
});

test("a model id has a provider and a name", () => {
  assert.equal(isModelId("openrouter/meta/llama"), true);
  for (const wrong of ["", "gpt", "/gpt", "openai/", "open ai/gpt"]) assert.equal(isModelId(wrong), false);
});

test("an unlisted model has an explanation", () => {
  assert.match(explainUnlisted([OPENAI, OLLAMA], "gtp"), /Write it as provider\/model/);
  assert.match(explainUnlisted([OPENAI, OLLAMA], "openai/gtp"), /Not in openai's list; used as typed/);
  assert.match(explainUnlisted([OPENAI, OLLAMA], "opnai/gpt"), /called opnai\. Choose one of openai, ollama\./);
});

test("a scripted model is recognised, even before its provider is loaded", () => {
  assert.equal(isScripted([], "scripted/echo"), true);
  assert.equal(isScripted([SCRIPTED, OPENAI], "scripted/echo"), true);
  assert.equal(isScripted([SCRIPTED, OPENAI], "openai/gpt-5"), false);
  assert.equal(isScripted([], "openai/scripted"), false);
});
