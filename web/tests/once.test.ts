import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { ApiError } from "../src/api/client.ts";
import { IdempotentSend } from "../src/stores/idempotent-send.ts";

const BODY = { message: "Round or square?", files: [] };

describe("what is asked once", () => {
  beforeEach(() => {
    const items = new Map<string, string>();
    const storage = {
      getItem: (key: string) => items.get(key) ?? null,
      setItem: (key: string, value: string) => void items.set(key, value),
      removeItem: (key: string) => void items.delete(key),
    };
    Object.defineProperty(globalThis, "localStorage", { value: storage, configurable: true });
  });

  /** Send, and return the key under which that was done. */
  async function keyOf(once: IdempotentSend, body: unknown, status?: number): Promise<string> {
    let used = "";
    const sending = once.send(body, async (key) => {
      used = key;
      if (status !== undefined) throw new ApiError(status, "No.");
    });
    if (status === undefined) await sending;
    else await assert.rejects(sending, ApiError);
    return used;
  }

  for (const status of [0, 500, 503])
    test(`after ${status} the same is sent under the same key, also by a page that was loaded again`, async () => {
      const once = new IdempotentSend("draft");
      const key = await keyOf(once, BODY, status);
      assert.equal(await keyOf(once, BODY, status), key);
      assert.equal(await keyOf(new IdempotentSend("draft"), BODY), key);
    });

  test("what was taken or refused is not what is sent next", async () => {
    const once = new IdempotentSend("draft");
    const keys = [
      await keyOf(once, BODY),
      await keyOf(once, BODY, 402),
      await keyOf(new IdempotentSend("draft"), BODY),
    ];
    assert.equal(new Set(keys).size, 3);
  });

  test("other words, another draft, and the same words written anew have a key of their own", async () => {
    const once = new IdempotentSend("draft");
    const keys = [
      await keyOf(once, BODY, 0),
      await keyOf(once, { ...BODY, message: "Round?" }, 0),
      await keyOf(new IdempotentSend("other"), BODY, 0),
    ];
    once.reset();
    keys.push(await keyOf(once, { ...BODY, message: "Round?" }));
    assert.equal(new Set(keys).size, 4);
  });
});
