/** The one connection to the server: it is kept, and when it breaks it goes on where it was. */

import { Refusal, send } from "./client.ts";
import { framed } from "./sse.ts";
import type { Change, Event, Resync } from "./types.ts";

export type StreamEvent = Event | Change | Resync;

/** `refused`: there is no use in trying again before somebody logs in. */
export type Connection = "connecting" | "live" | "lost" | "refused";

interface Listener {
  /** Which discussion is open, if any, and what was heard of its runs. */
  following(): { discussion: string | null; after: readonly string[] };
  hear(events: StreamEvent[]): void;
  connection(now: Connection): void;
  /** What is followed is not there, or not any more. */
  missing(): void;
}

const SILENCE = 40_000; // the server says something every 15 seconds
const PAUSES = [250, 500, 1000, 2000, 4000, 8000];

export class Stream {
  #listener: Listener;
  #attempt: AbortController | null = null;
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(listener: Listener) {
    this.#listener = listener;
  }

  /** Connect, or connect anew because another discussion is open now. */
  connect(): void {
    this.#attempt?.abort();
    clearTimeout(this.#timer);
    this.#attempt = new AbortController();
    void this.#listen(this.#attempt);
  }

  /** Try at once, because there is reason to think that it will work now. */
  hurry(): void {
    if (!this.#attempt) this.connect();
  }

  /** Give up a connection of which nothing more is to be expected. */
  drop(): void {
    this.#attempt?.abort();
  }

  /** Let go of the connection until somebody looks again: a browser has only a few of them. */
  rest(): void {
    const attempt = this.#attempt;
    this.#attempt = null;
    clearTimeout(this.#timer);
    attempt?.abort();
    this.#listener.connection("lost");
  }

  async #listen(attempt: AbortController): Promise<void> {
    this.#listener.connection(this.#failures ? "lost" : "connecting");
    let refused = false;
    let watch: ReturnType<typeof setTimeout> | undefined;
    const wait = () => {
      clearTimeout(watch);
      watch = setTimeout(() => attempt.abort(), SILENCE);
    };
    wait();
    try {
      const { discussion, after } = this.#listener.following();
      const response = await send("GET /api/events", {
        query: { discussion, after: discussion ? after : [] },
        signal: attempt.signal,
      });
      for await (const some of response.body ? framed(response.body) : []) {
        if (attempt.signal.aborted) break;
        wait();
        this.#hear(some);
      }
    } catch (error) {
      if (this.#attempt !== attempt) return; // what is followed now is something else
      refused = error instanceof Refusal && error.status === 401;
      if (error instanceof Refusal && error.status === 404) this.#listener.missing();
    } finally {
      clearTimeout(watch);
    }
    if (this.#attempt === attempt) this.#again(refused);
  }

  #hear(some: readonly string[]): void {
    if (!some.length) return; // a stream that tells nothing is not known to work
    this.#failures = 0;
    this.#listener.connection("live");
    this.#listener.hear(some.map((data) => JSON.parse(data) as StreamEvent));
  }

  #again(refused: boolean): void {
    this.#attempt = null;
    this.#listener.connection(refused ? "refused" : "lost");
    if (refused) return;
    const pause = PAUSES[Math.min(this.#failures++, PAUSES.length - 1)] ?? 8000;
    this.#timer = setTimeout(() => this.connect(), pause * (0.75 + Math.random() / 2));
  }
}
