import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, mock, test } from "node:test";
import type { StreamEvent } from "../src/api/event-stream.ts";
import { EventStream, type ConnectionStatus } from "../src/api/event-stream.ts";

interface Asked {
  url: string;
  say(text: string): void;
  end(): void;
  signal: AbortSignal;
}

const RESYNC = 'data: {"type":"resync"}\n\n';
let asked: Asked[] = [];
let states: ConnectionStatus[] = [];
let heard: StreamEvent[] = [];
let missed = 0;
let answer: () => Response | null = () => null;
let stream: EventStream;

/** Let everything happen that waits for nothing but its turn. */
const settled = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
};

function open(url: string, signal: AbortSignal): Response {
  let control: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({ start: (given) => void (control = given) });
  signal.addEventListener("abort", () => control?.error(signal.reason));
  asked.push({
    url,
    signal,
    say: (text) => control?.enqueue(new TextEncoder().encode(text)),
    end: () => control?.close(),
  });
  return new Response(body);
}

describe("the stream", () => {
  beforeEach(() => {
    [asked, states, heard, missed, answer] = [[], [], [], 0, () => null];
    mock.timers.enable({ apis: ["setTimeout"] });
    mock.method(Math, "random", () => 0.5); // pauses as they are written
    mock.method(globalThis, "fetch", (url: string, { signal }: { signal: AbortSignal }) => {
      const given = answer();
      if (given) asked.push({ url, signal, say: () => undefined, end: () => undefined });
      return Promise.resolve(given ?? open(url, signal));
    });
    stream = new EventStream({
      getSubscription: () => ({ discussion: "dis_1", after: ["run_1:7"] }),
      onEvents: (events) => void heard.push(...events),
      onMissing: () => void missed++,
      onConnectionChange: (now) => void states.push(now),
    });
  });

  afterEach(() => {
    stream.suspend();
    mock.timers.reset();
    mock.restoreAll();
  });

  test("it asks for what comes after what was heard, and hands it on", async () => {
    stream.connect();
    await settled();
    assert.equal(asked[0]?.url, "/api/events?discussion=dis_1&after=run_1%3A7");
    asked[0]?.say(RESYNC);
    await settled();
    assert.deepEqual(heard, [{ type: "resync" }]);
    assert.deepEqual(states, ["connecting", "live"]);
  });

  test("it waits longer with every failure, and from the beginning again once it was live", async () => {
    answer = () => new Response(null, { status: 503 });
    stream.connect();
    await settled();
    for (const [place, pause] of [250, 500, 1000, 2000, 4000, 8000, 8000].entries()) {
      mock.timers.tick(pause - 1);
      await settled();
      assert.equal(asked.length, place + 1, `not before ${pause} milliseconds`);
      mock.timers.tick(1);
      await settled();
      assert.equal(asked.length, place + 2);
    }
    assert.equal(states.at(-1), "lost");

    answer = () => null;
    mock.timers.tick(8000);
    await settled();
    asked.at(-1)?.say(RESYNC);
    await settled();
    assert.equal(states.at(-1), "live");
    asked.at(-1)?.end();
    await settled();
    const before = asked.length;
    mock.timers.tick(250);
    await settled();
    assert.equal(asked.length, before + 1);
  });

  test("silence is taken for a lost connection, and anything that is said is not", async () => {
    stream.connect();
    await settled();
    for (let time = 0; time < 3; time++) {
      asked[0]?.say(RESYNC);
      await settled();
      mock.timers.tick(39_000);
      await settled();
    }
    assert.equal(states.at(-1), "live");
    mock.timers.tick(1_000);
    await settled();
    assert.equal(states.at(-1), "lost");
    assert.equal(asked[0]?.signal.aborted, true);
  });

  test("a server that takes the call and never answers is given up too", async () => {
    const never = (url: string, { signal }: { signal: AbortSignal }) => {
      asked.push({ url, signal, say: () => undefined, end: () => undefined });
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    };
    mock.method(globalThis, "fetch", never);
    stream.connect();
    await settled();
    mock.timers.tick(40_000);
    await settled();
    assert.equal(states.at(-1), "lost");
    mock.timers.tick(250);
    await settled();
    assert.equal(asked.length, 2);
  });

  test("what came of one connection is not heard once there is another", async () => {
    stream.connect();
    await settled();
    asked[0]?.say(RESYNC);
    stream.connect();
    await settled();
    assert.deepEqual(heard, []);
  });

  test("whoever is refused is not asked again by itself", async () => {
    answer = () => Response.json({ title: "No", status: 401, detail: "Log in." }, { status: 401 });
    stream.connect();
    await settled();
    mock.timers.tick(60_000);
    await settled();
    assert.equal(asked.length, 1);
    assert.equal(states.at(-1), "refused");
  });

  test("what is not there is told of, unless something else is followed by then", async () => {
    answer = () => Response.json({ title: "No", status: 404, detail: "Gone." }, { status: 404 });
    stream.connect();
    answer = () => null;
    stream.connect();
    await settled();
    assert.deepEqual([asked.length, missed], [2, 0]);
    answer = () => Response.json({ title: "No", status: 404, detail: "Gone." }, { status: 404 });
    stream.connect();
    await settled();
    assert.deepEqual([asked.length, missed], [3, 1]);
  });

  test("it is hurried only while it waits", async () => {
    stream.connect();
    await settled();
    stream.reconnectNow();
    await settled();
    assert.equal(asked.length, 1);
    asked[0]?.end();
    await settled();
    stream.reconnectNow();
    await settled();
    assert.equal(asked.length, 2);
  });

  test("what rests comes back only when somebody looks again", async () => {
    stream.connect();
    await settled();
    stream.suspend();
    await settled();
    mock.timers.tick(60_000);
    await settled();
    assert.equal(asked.length, 1);
    stream.reconnectNow();
    await settled();
    assert.equal(asked.length, 2);
  });
});
