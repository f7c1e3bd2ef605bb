/** Server-sent events: the connection for all changes, which resumes after a disconnect, and single streamed calls. */

import { ApiError, sendRequest, type RequestOptions, type Endpoint } from "./client.ts";
import type { Change, Event, Resync, Calls } from "./types.ts";

export type StreamEvent = Event | Change | Resync;

/** `refused`: retrying is pointless until the user logs in. */
export type ConnectionStatus = "connecting" | "live" | "lost" | "refused";

interface StreamHandlers {
  /** Returns the open discussion, if any, and the cursors of its runs. */
  getSubscription(): { discussion: string | null; after: readonly string[] };
  onEvents(events: StreamEvent[]): void;
  onConnectionChange(now: ConnectionStatus): void;
  /** The subscribed discussion does not exist, or no longer. */
  onMissing(): void;
}

const SILENCE_TIMEOUT_MS = 40_000; // the server sends a keep-alive every 15 seconds
const RETRY_DELAYS_MS = [250, 500, 1000, 2000, 4000, 8000];

/** Event stream connection. After a disconnect it resumes from the last event. */
export class EventStream {
  #handlers: StreamHandlers;
  #attempt: AbortController | null = null;
  #failures = 0;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(listener: StreamHandlers) {
    this.#handlers = listener;
  }

  /** Connect, or reconnect because another discussion is open. */
  connect(): void {
    this.#attempt?.abort();
    clearTimeout(this.#retryTimer);
    this.#attempt = new AbortController();
    void this.#readEvents(this.#attempt);
  }

  /** Retry now, because the connection probably works again. */
  reconnectNow(): void {
    if (!this.#attempt) this.connect();
  }

  /** Drop a dead connection. */
  dropConnection(): void {
    this.#attempt?.abort();
  }

  /** Close the connection while the page is hidden. Browsers allow only a few connections per host. */
  suspend(): void {
    const attempt = this.#attempt;
    this.#attempt = null;
    clearTimeout(this.#retryTimer);
    attempt?.abort();
    this.#handlers.onConnectionChange("lost");
  }

  async #readEvents(attempt: AbortController): Promise<void> {
    this.#handlers.onConnectionChange(this.#failures ? "lost" : "connecting");
    let refused = false;
    let watch: ReturnType<typeof setTimeout> | undefined;
    const wait = () => {
      clearTimeout(watch);
      watch = setTimeout(() => attempt.abort(), SILENCE_TIMEOUT_MS);
    };
    wait();
    try {
      const { discussion, after } = this.#handlers.getSubscription();
      const response = await sendRequest("GET /api/events", {
        query: { discussion, after: discussion ? after : [] },
        signal: attempt.signal,
      });
      for await (const some of response.body ? readSseEvents(response.body) : []) {
        if (attempt.signal.aborted) break;
        wait();
        this.#dispatchEvents(some);
      }
    } catch (error) {
      if (this.#attempt !== attempt) return; // a newer subscription replaced this one
      refused = error instanceof ApiError && error.status === 401;
      if (error instanceof ApiError && error.status === 404) this.#handlers.onMissing();
    } finally {
      clearTimeout(watch);
    }
    if (this.#attempt === attempt) this.#scheduleReconnect(refused);
  }

  #dispatchEvents(frames: readonly string[]): void {
    if (!frames.length) return; // a stream without events is not proven to work
    this.#failures = 0;
    this.#handlers.onConnectionChange("live");
    this.#handlers.onEvents(frames.map((data) => JSON.parse(data) as StreamEvent));
  }

  #scheduleReconnect(refused: boolean): void {
    this.#attempt = null;
    this.#handlers.onConnectionChange(refused ? "refused" : "lost");
    if (refused) return;
    const pause = RETRY_DELAYS_MS[Math.min(this.#failures++, RETRY_DELAYS_MS.length - 1)] ?? 8000;
    this.#retryTimer = setTimeout(() => this.connect(), pause * (0.75 + Math.random() / 2));
  }
}

/**
 * Parse a body. With each chunk, yields the data of the events that are complete by then; maybe none.
 * Leaving the loop cancels the request.
 */
export async function* readSseEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<readonly string[], void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const frames = (rest + decoder.decode(value, { stream: true })).split("\n\n");
      rest = frames.pop() ?? "";
      yield frames.map(extractData).filter((data) => data !== "");
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

function extractData(frame: string): string {
  return frame
    .split("\n")
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(line[5] === " " ? 6 : 5))
    .join("\n");
}

/** Make a call whose response is a stream. Leave the loop, or abort by `options.signal`, to cancel it on the server too. */
export async function* streamCall<C extends Endpoint>(
  name: C,
  options: RequestOptions<C> = {},
): AsyncGenerator<Calls[C]["gives"], void> {
  const response = await sendRequest(name, options);
  if (!response.body) return;
  for await (const some of readSseEvents(response.body)) {
    for (const data of some) yield JSON.parse(data) as Calls[C]["gives"];
  }
}
