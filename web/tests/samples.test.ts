import assert from "node:assert/strict";
import { test } from "node:test";
import {
  buildFirstSetup,
  buildSampleSetup,
  playableSamples,
  SCRIPTED_SAMPLES,
  SAMPLES,
} from "../src/features/new-discussion/samples.ts";
import { validateSetup } from "../src/features/participants/setup.ts";
import { KEYLESS, LOCAL, OLLAMA, OPENAI, SCRIPTED } from "./providers.ts";

const models = (setup: ReturnType<typeof buildFirstSetup>) =>
  setup?.participants.map((participant) => participant.model);

test("every sample is valid with any ready model, and has questions", () => {
  for (const offers of [[LOCAL], [OPENAI], [OPENAI, OLLAMA], [LOCAL, SCRIPTED, KEYLESS]]) {
    for (const sample of SAMPLES) {
      const setup = buildSampleSetup(sample, offers);
      assert.ok(setup, sample.title);
      assert.equal(validateSetup(setup), null, sample.title);
      assert.ok(models(setup)?.every((model) => !model.startsWith("scripted/")));
      assert.ok(sample.questions.length);
    }
  }
});

test("models are distributed evenly over the participants", () => {
  const [compare] = SAMPLES;
  assert.ok(compare);
  assert.deepEqual(models(buildSampleSetup(compare, [OPENAI, OLLAMA])), [
    "openai/gpt-5-mini",
    "ollama/llama3.2",
    "openai/gpt-5-mini",
  ]);
});

test("without ready models, no setup is built", () => {
  for (const sample of SAMPLES) assert.equal(buildSampleSetup(sample, [KEYLESS, SCRIPTED]), null);
  assert.equal(buildFirstSetup([KEYLESS, SCRIPTED]), null);
});

test("scripted samples use scripted models, even if other models are ready", () => {
  assert.deepEqual(playableSamples([OPENAI]), []);
  assert.deepEqual(playableSamples([OPENAI, SCRIPTED]), SCRIPTED_SAMPLES);
  for (const sample of SCRIPTED_SAMPLES) {
    assert.ok(models(buildSampleSetup(sample, [OPENAI, SCRIPTED]))?.every((model) => model.startsWith("scripted/")));
  }
});

test("the first setup has different models, or one model with two personas", () => {
  assert.deepEqual(models(buildFirstSetup([OPENAI, OLLAMA])), ["openai/gpt-5-mini", "ollama/llama3.2"]);
  const alone = buildFirstSetup([LOCAL, SCRIPTED]);
  assert.deepEqual(models(alone), ["local/smollm2", "local/smollm2"]);
  assert.equal(new Set(alone?.participants.map((participant) => participant.persona)).size, 2);
});
