/** What the page knows right now: the one place where what is heard meets what is shown. */

import { call, Refusal } from "../api/client.ts";
import { hear, opened, positions, withMessage, withOlder, withPage, type Open } from "../state/discussion.ts";
import { takeOver } from "./storage.ts";
import {
  EMPTY,
  isOfShelf,
  shelve,
  withFirstPage,
  withNextPage,
  type Shelf,
  type Shown,
} from "../state/discussion-list.ts";
import { Stream, type Connection, type StreamEvent } from "../api/event-stream.ts";
import type { Me, Message } from "../api/types.ts";

const HIDDEN = 30_000; // milliseconds after which a page that nobody sees lets go of its connection
const SETTLE = 250; // milliseconds after something ended, before what was stored is read

class Live {
  me = $state.raw<Me | null>(null);
  connection = $state.raw<Connection>("connecting");
  /** While it is, nothing is heard, and nothing that is asked for can be done. */
  readonly isLost = $derived(this.connection === "lost");
  shelf = $state.raw<Shelf>(EMPTY);
  shown = $state.raw<Shown>({ q: "", status: "active" });
  /** What the list that is there shows: while another one is read, it is still that. */
  listed = $state.raw<Shown | null>(null);
  open = $state.raw<Open | null>(null);
  /** Why the open discussion cannot be shown. */
  trouble = $state.raw<string | null>(null);

  #stream: Stream;
  #asked = 0; // how often the list was asked for: only the last answer counts
  #unlisted: StreamEvent[] | null = null; // what is heard while the list is read
  #isPaging = false; // whether it is the next page that is read
  #begun = 0; // how often listening began: what came about before was told to nobody
  #caughtUp = 0; // how often it had, when the list that is there was asked for
  #waiting: StreamEvent[] | null = null; // what is heard before the open discussion was read
  #heard: StreamEvent[] = [];
  #frame = 0;
  #settling: ReturnType<typeof setTimeout> | undefined;
  #hiding: ReturnType<typeof setTimeout> | undefined;
  #isMissing = false;
  #older: Promise<void> | null = null;
  #changes = 0; // how often a message was changed here: what was read before that is old

  constructor() {
    this.#stream = new Stream({
      following: () => ({
        discussion: this.#isMissing ? null : (this.open?.id ?? null),
        after: this.open ? positions(this.open) : [],
      }),
      missing: () => this.#miss(),
      hear: (events) => this.#hear(events),
      connection: (now) => (this.connection = now),
    });
    addEventListener("offline", () => this.#stream.drop());
    addEventListener("online", () => this.#stream.hurry());
    // A page that is left may be kept whole for the way back, and its connection with it.
    addEventListener("pagehide", () => this.#stream.rest());
    addEventListener("pageshow", ({ persisted }) => persisted && this.#stream.hurry());
    document.addEventListener("visibilitychange", () => {
      clearTimeout(this.#hiding);
      if (document.visibilityState === "visible") this.#stream.hurry();
      else this.#hiding = setTimeout(() => this.#stream.rest(), HIDDEN);
    });
  }

  /** Find out who is here, and begin to listen. */
  async begin(): Promise<void> {
    this.me = await call("GET /api/me");
    if (takeOver(this.me.account)) location.reload();
    this.#stream.connect();
    await this.list();
  }

  /** Read the list anew, or the next page of it. */
  async list(more = false): Promise<void> {
    const shown = this.shown;
    const { q, status } = shown;
    const cursor = more ? this.shelf.next : null;
    const asked = ++this.#asked;
    const begun = this.#begun;
    this.#unlisted = [];
    this.#isPaging = more;
    try {
      const page = await call("GET /api/discussions", { query: { q, status: q ? null : status, cursor } });
      if (asked !== this.#asked) return;
      const isOther = this.listed !== shown;
      const before = isOther ? { ...this.shelf, discussions: [], next: null, hits: [] } : this.shelf;
      const read = more ? withNextPage(before, page) : withFirstPage(before, page);
      this.shelf = shelve(read, this.#unlisted ?? [], shown);
      this.listed = shown;
      if (!more) this.#caughtUp = begun;
    } finally {
      if (asked === this.#asked) this.#listingEnded(more);
    }
  }

  #listingEnded(more: boolean): void {
    this.#unlisted = null;
    this.#isPaging = false;
    if (more) this.#catchUp();
  }

  /** Read the list anew where it may have changed while nobody listened; who waits for its next page gets that first. */
  #catchUp(): void {
    if (this.#begun > this.#caughtUp && !this.#isPaging) void this.list().catch(() => undefined);
  }

  /** Open a discussion: listen to it first, so that nothing is missed while it is read. */
  async enter(id: string): Promise<void> {
    if (this.open?.id === id) return;
    this.#take(); // what was heard until now belongs to what was open until now
    this.#isMissing = false;
    this.open = opened(id);
    this.trouble = null;
    this.#waiting = [];
    this.#older = null;
    this.#stream.connect();
    await this.#readOpen(id);
  }

  leave(): void {
    if (!this.open) return;
    this.#take();
    this.#isMissing = false;
    this.open = null;
    this.#waiting = null;
    this.#older = null;
    this.#stream.connect();
  }

  /** Read the page before the oldest message that is there, once at a time. */
  older(): Promise<void> {
    if (this.#older) return this.#older;
    const reading = this.#readOlder().finally(() => {
      if (this.#older === reading) this.#older = null;
    });
    this.#older = reading;
    return reading;
  }

  async #readOlder(): Promise<void> {
    const open = this.open;
    if (!open || open.before === null) return;
    const page = await call("GET /api/discussions/{id}", {
      path: { id: open.id },
      query: { before: open.before, limit: 100 },
    });
    if (this.open?.id === open.id && this.open.before === open.before) this.open = withOlder(this.open, page);
  }

  /** Read the newest page again, because something was changed that no event tells of. */
  async refresh(): Promise<void> {
    if (this.open) await this.#readOpen(this.open.id);
  }

  /** Show one message as it is now, wherever it stands. */
  changed(message: Message): void {
    if (this.open?.id !== message.discussion) return;
    this.#changes++;
    this.open = withMessage(this.open, message);
  }

  async #readOpen(id: string): Promise<void> {
    try {
      const query = { limit: 100 };
      const before = this.#changes;
      const page = await call("GET /api/discussions/{id}", { path: { id }, query });
      if (this.open?.id !== id) return;
      if (this.#changes !== before) return await this.#readOpen(id);
      this.open = hear(withPage(this.open, page), this.#waiting ?? []);
      this.#waiting = null;
      this.trouble = null;
    } catch (error) {
      if (this.open?.id === id && !this.open.discussion) this.trouble = (error as Error).message;
      else if (!(error instanceof Refusal)) throw error;
    }
  }

  #miss(): void {
    this.#isMissing = true;
    if (this.open?.discussion) this.open = { ...this.open, gone: true };
  }

  /** Gather what comes within a frame, so that many voices cost one change of the state. */
  #hear(events: StreamEvent[]): void {
    this.#heard.push(...events);
    if (document.visibilityState === "hidden") this.#take();
    else this.#frame ||= requestAnimationFrame(() => this.#take());
  }

  #take(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const events = this.#heard;
    this.#heard = [];
    this.shelf = shelve(this.shelf, events, this.shown);
    this.#unlisted?.push(...events.filter(isOfShelf));
    if (this.#waiting) this.#waiting.push(...events);
    else if (this.open) this.open = hear(this.open, events);
    // All that goes on is told when a connection begins: what was read before that may be old, also just after entering.
    this.#begun += events.filter((event) => event.type === "activity").length;
    if (events.some((event) => this.#isStored(event))) this.#settle();
  }

  /** Tell whether something was stored of which the event does not tell all. */
  #isStored(event: StreamEvent): boolean {
    if (event.type === "discussion_changed") return event.discussion.id === this.open?.id;
    return event.type === "turn_ended" || event.type === "run_ended" || event.type === "activity";
  }

  /** Read the ids of what ended, and what else only the stored messages have. */
  #settle(): void {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => {
      void this.refresh();
      this.#catchUp();
    }, SETTLE);
  }
}

export const live = new Live();
