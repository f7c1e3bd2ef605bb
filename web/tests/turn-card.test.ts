import assert from "node:assert/strict";
import { test } from "node:test";
import { describeFault } from "../src/features/turn-card/faults.ts";
import { tokenShares, formatPrompt } from "../src/features/turn-card/prompt/prompt-parts.ts";
import type { Fault, PromptPartView } from "../src/api/types.ts";

const fault = (kind: Fault["kind"], message = "It broke.", retry_after: number | null = null): Fault => ({
  kind,
  message,
  retryable: true,
  retry_after,
});

test("the first remedy depends on the fault: add a key, retry, or change the model", () => {
  assert.equal(describeFault(fault("auth")).remedies[0], "key");
  assert.equal(describeFault(fault("rate_limit")).remedies[0], "retry");
  assert.equal(describeFault(fault("context_length")).remedies[0], "swap");
});

test("advice is omitted if the message already has it", () => {
  assert.equal(describeFault(fault("timeout")).advice, "Retry, or use a faster model.");
  assert.equal(describeFault(fault("timeout", "Late. Try again.")).advice, "");
  assert.equal(describeFault(fault("rate_limit", "Slow down.", 12.2)).advice, "The provider asks to wait 13 s.");
  assert.equal(describeFault(fault("rate_limit", "Slow down.", 600)).advice, "The provider asks to wait 10 minutes.");
});

test("a failure without a fault has a message", () => {
  assert.equal(describeFault(null).words, "The model gave no answer.");
});

const part = (origin: PromptPartView["origin"], tokens: number, text = "words"): PromptPartView => ({
  role: "user",
  origin,
  name: null,
  message: null,
  text,
  tokens,
  size: null,
});

test("tokens are grouped by origin, the largest share first", () => {
  assert.deepEqual(tokenShares([part("mode", 10), part("message", 20), part("message", 70)]), [
    { origin: "message", tokens: 90, fraction: 0.9 },
    { origin: "mode", tokens: 10, fraction: 0.1 },
  ]);
  assert.deepEqual(tokenShares([]), []);
});

test("a copied prompt has a label for each part", () => {
  const file = { ...part("file", 5, ""), name: "a.png", size: 12 };
  assert.equal(
    formatPrompt([part("mode", 1, "Be brief."), file]),
    "[user · mode]\nBe brief.\n\n[user · file · a.png]\n(a file of 12 bytes)",
  );
});
