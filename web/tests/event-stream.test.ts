import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, mock, test } from "node:test";
import type { StreamEvent } from "../src/api/event-stream.ts";
import { EventStream, type ConnectionStatus } from "../src/api/event-stream.ts";

interface Connection {
  url: string;
  send(text: string): void;
  end(): void;
  signal: AbortSignal;
}

const RESYNC = 'data: {"type":"resync"}\n\n';
let connections: Connection[] = [];
let states: ConnectionStatus[] = [];
let received: StreamEvent[] = [];
let missed = 0;
let answer: () => Response | null = () => null;
let stream: EventStream;

/** Wait until all pending callbacks have run. */
const settle = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
};

function open(url: string, signal: AbortSignal): Response {
  let control: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({ start: (controller) => void (control = controller) });
  signal.addEventListener("abort", () => control?.error(signal.reason));
  connections.push({
    url,
    signal,
    send: (text) => control?.enqueue(new TextEncoder().encode(text)),
    end: () => control?.close(),
  });
  return new Response(body);
}

describe("event stream", () => {
  beforeEach(() => {
    [connections, states, received, missed, answer] = [[], [], [], 0, () => null];
    mock.timers.enable({ apis: ["setTimeout"] });
    mock.method(Math, "random", () => 0.5); // no jitter
    mock.method(globalThis, "fetch", (url: string, { signal }: { signal: AbortSignal }) => {
      const response = answer();
      if (response) connections.push({ url, signal, send: () => undefined, end: () => undefined });
      return Promise.resolve(response ?? open(url, signal));
    });
    stream = new EventStream({
      getSubscription: () => ({ discussion: "dis_1", after: ["run_1:7"] }),
      onEvents: (events) => void received.push(...events),
      onMissing: () => void missed++,
      onConnectionChange: (now) => void states.push(now),
    });
  });

  afterEach(() => {
    stream.suspend();
    mock.timers.reset();
    mock.restoreAll();
  });

  test("it requests events after the cursor and passes them on", async () => {
    stream.connect();
    await settle();
    assert.equal(connections[0]?.url, "/api/events?discussion=dis_1&after=run_1%3A7");
    connections[0]?.send(RESYNC);
    await settle();
    assert.deepEqual(received, [{ type: "resync" }]);
    assert.deepEqual(states, ["connecting", "live"]);
  });

  test("pauses grow with each failure and start again after a live connection", async () => {
    answer = () => new Response(null, { status: 503 });
    stream.connect();
    await settle();
    for (const [place, pause] of [250, 500, 1000, 2000, 4000, 8000, 8000].entries()) {
      mock.timers.tick(pause - 1);
      await settle();
      assert.equal(connections.length, place + 1, `not before ${pause} milliseconds`);
      mock.timers.tick(1);
      await settle();
      assert.equal(connections.length, place + 2);
    }
    assert.equal(states.at(-1), "lost");

    answer = () => null;
    mock.timers.tick(8000);
    await settle();
    connections.at(-1)?.send(RESYNC);
    await settle();
    assert.equal(states.at(-1), "live");
    connections.at(-1)?.end();
    await settle();
    const before = connections.length;
    mock.timers.tick(250);
    await settle();
    assert.equal(connections.length, before + 1);
  });

  test("a connection without data counts as lost", async () => {
    stream.connect();
    await settle();
    for (let time = 0; time < 3; time++) {
      connections[0]?.send(RESYNC);
      await settle();
      mock.timers.tick(39_000);
      await settle();
    }
    assert.equal(states.at(-1), "live");
    mock.timers.tick(1_000);
    await settle();
    assert.equal(states.at(-1), "lost");
    assert.equal(connections[0]?.signal.aborted, true);
  });

  test("a connection without a response counts as lost", async () => {
    const never = (url: string, { signal }: { signal: AbortSignal }) => {
      connections.push({ url, signal, send: () => undefined, end: () => undefined });
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    };
    mock.method(globalThis, "fetch", never);
    stream.connect();
    await settle();
    mock.timers.tick(40_000);
    await settle();
    assert.equal(states.at(-1), "lost");
    mock.timers.tick(250);
    await settle();
    assert.equal(connections.length, 2);
  });

  test("events of a replaced connection are dropped", async () => {
    stream.connect();
    await settle();
    connections[0]?.send(RESYNC);
    stream.connect();
    await settle();
    assert.deepEqual(received, []);
  });

  test("a refused connection is not retried", async () => {
    answer = () => Response.json({ title: "No", status: 401, detail: "Log in." }, { status: 401 });
    stream.connect();
    await settle();
    mock.timers.tick(60_000);
    await settle();
    assert.equal(connections.length, 1);
    assert.equal(states.at(-1), "refused");
  });

  test("a missing discussion is reported, unless the subscription changed", async () => {
    answer = () => Response.json({ title: "No", status: 404, detail: "Gone." }, { status: 404 });
    stream.connect();
    answer = () => null;
    stream.connect();
    await settle();
    assert.deepEqual([connections.length, missed], [2, 0]);
    answer = () => Response.json({ title: "No", status: 404, detail: "Gone." }, { status: 404 });
    stream.connect();
    await settle();
    assert.deepEqual([connections.length, missed], [3, 1]);
  });

  test("reconnecting at once works only while it waits", async () => {
    stream.connect();
    await settle();
    stream.reconnectNow();
    await settle();
    assert.equal(connections.length, 1);
    connections[0]?.end();
    await settle();
    stream.reconnectNow();
    await settle();
    assert.equal(connections.length, 2);
  });

  test("a suspended stream reconnects only on request", async () => {
    stream.connect();
    await settle();
    stream.suspend();
    await settle();
    mock.timers.tick(60_000);
    await settle();
    assert.equal(connections.length, 1);
    stream.reconnectNow();
    await settle();
    assert.equal(connections.length, 2);
  });
});
