import assert from "node:assert/strict";
import { test } from "node:test";
import {
  buildFirstTable,
  buildSampleTable,
  playableSamples,
  SCRIPTED_SAMPLES,
  SAMPLES,
} from "../src/features/new-discussion/samples.ts";
import { validateTable } from "../src/features/participants/setup.ts";
import { KEYLESS, LOCAL, OLLAMA, OPENAI, SCRIPTED } from "./providers.ts";

const models = (table: ReturnType<typeof buildFirstTable>) => table?.seats.map((seat) => seat.model);

test("every sample is valid with any ready model, and has questions", () => {
  for (const offers of [[LOCAL], [OPENAI], [OPENAI, OLLAMA], [LOCAL, SCRIPTED, KEYLESS]]) {
    for (const sample of SAMPLES) {
      const table = buildSampleTable(sample, offers);
      assert.ok(table, sample.title);
      assert.equal(validateTable(table), null, sample.title);
      assert.ok(models(table)?.every((model) => !model.startsWith("scripted/")));
      assert.ok(sample.questions.length);
    }
  }
});

test("models are distributed evenly over the participants", () => {
  const [compare] = SAMPLES;
  assert.ok(compare);
  assert.deepEqual(models(buildSampleTable(compare, [OPENAI, OLLAMA])), [
    "openai/gpt-5-mini",
    "ollama/llama3.2",
    "openai/gpt-5-mini",
  ]);
});

test("without ready models, no table is built", () => {
  for (const sample of SAMPLES) assert.equal(buildSampleTable(sample, [KEYLESS, SCRIPTED]), null);
  assert.equal(buildFirstTable([KEYLESS, SCRIPTED]), null);
});

test("scripted samples use scripted models, even if other models are ready", () => {
  assert.deepEqual(playableSamples([OPENAI]), []);
  assert.deepEqual(playableSamples([OPENAI, SCRIPTED]), SCRIPTED_SAMPLES);
  for (const sample of SCRIPTED_SAMPLES) {
    assert.ok(
      models(buildSampleTable(sample, [OPENAI, SCRIPTED]))?.every((model) => model.startsWith("scripted/")),
    );
  }
});

test("the first table has different models, or one model with two personas", () => {
  assert.deepEqual(models(buildFirstTable([OPENAI, OLLAMA])), ["openai/gpt-5-mini", "ollama/llama3.2"]);
  const alone = buildFirstTable([LOCAL, SCRIPTED]);
  assert.deepEqual(models(alone), ["local/smollm2", "local/smollm2"]);
  assert.equal(new Set(alone?.seats.map((seat) => seat.persona)).size, 2);
});
