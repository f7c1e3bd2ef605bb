import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { ApiError } from "../src/api/client.ts";
import { IdempotentSend } from "../src/stores/idempotent-send.ts";

const BODY = { message: "Round or square?", files: [] };

describe("idempotent send", () => {
  beforeEach(() => {
    const items = new Map<string, string>();
    const storage = {
      getItem: (key: string) => items.get(key) ?? null,
      setItem: (key: string, value: string) => void items.set(key, value),
      removeItem: (key: string) => void items.delete(key),
    };
    Object.defineProperty(globalThis, "localStorage", { value: storage, configurable: true });
  });

  /** Send a body, and return its idempotency key. */
  async function sendAndGetKey(sender: IdempotentSend, body: unknown, status?: number): Promise<string> {
    let used = "";
    const sending = sender.send(body, async (key) => {
      used = key;
      if (status !== undefined) throw new ApiError(status, "No.");
    });
    if (status === undefined) await sending;
    else await assert.rejects(sending, ApiError);
    return used;
  }

  for (const status of [0, 500, 503])
    test(`after status ${status}, the same body keeps its key, even after a reload`, async () => {
      const sender = new IdempotentSend("draft");
      const key = await sendAndGetKey(sender, BODY, status);
      assert.equal(await sendAndGetKey(sender, BODY, status), key);
      assert.equal(await sendAndGetKey(new IdempotentSend("draft"), BODY), key);
    });

  test("after a response, the next send has a new key", async () => {
    const sender = new IdempotentSend("draft");
    const keys = [
      await sendAndGetKey(sender, BODY),
      await sendAndGetKey(sender, BODY, 402),
      await sendAndGetKey(new IdempotentSend("draft"), BODY),
    ];
    assert.equal(new Set(keys).size, 3);
  });

  test("another body, another draft and a reset each give a new key", async () => {
    const sender = new IdempotentSend("draft");
    const keys = [
      await sendAndGetKey(sender, BODY, 0),
      await sendAndGetKey(sender, { ...BODY, message: "Round?" }, 0),
      await sendAndGetKey(new IdempotentSend("other"), BODY, 0),
    ];
    sender.reset();
    keys.push(await sendAndGetKey(sender, { ...BODY, message: "Round?" }));
    assert.equal(new Set(keys).size, 4);
  });
});
