/** The one connection to the server: it is kept, and when it breaks it goes on where it was. */

import { ApiError, sendRequest } from "./client.ts";
import { readSseEvents } from "./sse.ts";
import type { Change, Event, Resync } from "./types.ts";

export type StreamEvent = Event | Change | Resync;

/** `refused`: there is no use in trying again before somebody logs in. */
export type ConnectionStatus = "connecting" | "live" | "lost" | "refused";

interface StreamHandlers {
  /** Which discussion is open, if any, and what was heard of its runs. */
  getSubscription(): { discussion: string | null; after: readonly string[] };
  onEvents(events: StreamEvent[]): void;
  onConnectionChange(now: ConnectionStatus): void;
  /** What is followed is not there, or not any more. */
  onMissing(): void;
}

const SILENCE_TIMEOUT_MS = 40_000; // the server says something every 15 seconds
const RETRY_DELAYS_MS = [250, 500, 1000, 2000, 4000, 8000];

export class EventStream {
  #handlers: StreamHandlers;
  #attempt: AbortController | null = null;
  #failures = 0;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(listener: StreamHandlers) {
    this.#handlers = listener;
  }

  /** Connect, or connect anew because another discussion is open now. */
  connect(): void {
    this.#attempt?.abort();
    clearTimeout(this.#retryTimer);
    this.#attempt = new AbortController();
    void this.#readEvents(this.#attempt);
  }

  /** Try at once, because there is reason to think that it will work now. */
  reconnectNow(): void {
    if (!this.#attempt) this.connect();
  }

  /** Give up a connection of which nothing more is to be expected. */
  dropConnection(): void {
    this.#attempt?.abort();
  }

  /** Let go of the connection until somebody looks again: a browser has only a few of them. */
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
      if (this.#attempt !== attempt) return; // what is followed now is something else
      refused = error instanceof ApiError && error.status === 401;
      if (error instanceof ApiError && error.status === 404) this.#handlers.onMissing();
    } finally {
      clearTimeout(watch);
    }
    if (this.#attempt === attempt) this.#scheduleReconnect(refused);
  }

  #dispatchEvents(frames: readonly string[]): void {
    if (!frames.length) return; // a stream that tells nothing is not known to work
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
