import assert from "node:assert/strict";
import { test } from "node:test";
import {
  isModelId,
  isScripted,
  readyModels,
  searchModels,
  explainUnlisted,
} from "../src/state/model-offers.ts";
import { isLocalProvider, describeAvailability } from "../src/state/providers.ts";
import { KEYLESS, LOCAL, OLLAMA, OPENAI, SCRIPTED, SILENT, offer } from "./providers.ts";

test("what is there is told apart from what needs something first", () => {
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

test("those that are ready are one of each provider, and can talk", () => {
  assert.deepEqual(readyModels([KEYLESS, OPENAI, OLLAMA, LOCAL, SCRIPTED]), [
    "openai/gpt-5-mini",
    "ollama/llama3.2",
  ]);
});

test("one provider alone gives several of its models", () => {
  assert.deepEqual(readyModels([OPENAI, LOCAL]), ["openai/gpt-5-mini", "openai/gpt-5"]);
});

test("without a key the embedded model answers, and never a script", () => {
  assert.deepEqual(readyModels([KEYLESS, LOCAL, SCRIPTED]), ["local/smollm2"]);
  assert.deepEqual(readyModels([KEYLESS, SCRIPTED]), []);
});

test("a search shows what is ready first, the usual one at its head, and who needs a key", () => {
  const found = searchModels([KEYLESS, SCRIPTED, OPENAI], "");
  assert.deepEqual(
    found.map((group) => group.offer.provider),
    ["openai", "scripted", "anthropic"],
  );
  assert.deepEqual(found[0]?.models, ["openai/gpt-5-mini", "openai/gpt-5", "openai/tts-1"]);
});

test("of many models the first are shown, and how many more there are", () => {
  const models = Array.from({ length: 22 }, (_, place) => `scripted/${place}`);
  const [found] = searchModels([{ ...SCRIPTED, models, defaultModel: null }], "");
  assert.deepEqual([found?.models.length, found?.hiddenCount], [12, 10]);
});

test("every word that is typed must be in the name", () => {
  assert.deepEqual(
    searchModels([KEYLESS, SCRIPTED, OPENAI], "GPT mini").map((group) => group.models),
    [["openai/gpt-5-mini"]],
  );
  assert.deepEqual(
    searchModels([KEYLESS, OPENAI], "anthr").map((group) => group.offer.provider),
    ["anthropic"],
  );
});

test("a model is written with its provider", () => {
  assert.equal(isModelId("openrouter/meta/llama"), true);
  for (const wrong of ["", "gpt", "/gpt", "openai/", "open ai/gpt"]) assert.equal(isModelId(wrong), false);
});

test("a name that no list has is told with what to do", () => {
  assert.match(explainUnlisted([OPENAI, OLLAMA], "gtp"), /Write it as provider\/model/);
  assert.match(explainUnlisted([OPENAI, OLLAMA], "openai/gtp"), /Not in openai's list; used as typed/);
  assert.match(
    explainUnlisted([OPENAI, OLLAMA], "opnai/gpt"),
    /called opnai\. Choose one of openai, ollama\./,
  );
});

test("a script is known as one, whether its provider is known or not", () => {
  assert.equal(isScripted([], "scripted/echo"), true);
  assert.equal(isScripted([SCRIPTED, OPENAI], "scripted/echo"), true);
  assert.equal(isScripted([SCRIPTED, OPENAI], "openai/gpt-5"), false);
  assert.equal(isScripted([], "openai/scripted"), false);
});
