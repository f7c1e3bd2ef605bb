/** What the page knows right now: the one place where what is heard meets what is shown. */

import { callApi, ApiError } from "../api/client.ts";
import {
  applyEvents,
  emptyDiscussion,
  eventCursors,
  withMessage,
  withOlderPage,
  withPage,
  type OpenDiscussion,
} from "../state/discussion.ts";
import { claimStorage } from "./storage.ts";
import {
  EMPTY_LIST,
  isListEvent,
  applyListEvents,
  withFirstPage,
  withNextPage,
  type DiscussionList,
  type ListFilter,
} from "../state/discussion-list.ts";
import { EventStream, type ConnectionStatus, type StreamEvent } from "../api/event-stream.ts";
import type { Me, Message } from "../api/types.ts";

const HIDDEN_TIMEOUT_MS = 30_000; // milliseconds after which a page that nobody sees lets go of its connection
const REFRESH_DELAY_MS = 250; // milliseconds after something ended, before what was stored is read

class Session {
  me = $state.raw<Me | null>(null);
  connection = $state.raw<ConnectionStatus>("connecting");
  /** While it is, nothing is heard, and nothing that is asked for can be done. */
  readonly isDisconnected = $derived(this.connection === "lost");
  discussionList = $state.raw<DiscussionList>(EMPTY_LIST);
  listFilter = $state.raw<ListFilter>({ q: "", status: "active" });
  /** What the list that is there shows: while another one is read, it is still that. */
  loadedFilter = $state.raw<ListFilter | null>(null);
  openDiscussion = $state.raw<OpenDiscussion | null>(null);
  /** Why the open discussion cannot be shown. */
  errorMessage = $state.raw<string | null>(null);

  #stream: EventStream;
  #listRequests = 0; // how often the list was asked for: only the last answer counts
  #pendingListEvents: StreamEvent[] | null = null; // what is heard while the list is read
  #isLoadingMore = false; // whether it is the next page that is read
  #connectionCount = 0; // how often listening began: what came about before was told to nobody
  #listConnectionCount = 0; // how often it had, when the list that is there was asked for
  #pendingEvents: StreamEvent[] | null = null; // what is heard before the open discussion was read
  #eventQueue: StreamEvent[] = [];
  #frameRequest = 0;
  #refreshTimer: ReturnType<typeof setTimeout> | undefined;
  #hiddenTimer: ReturnType<typeof setTimeout> | undefined;
  #isMissing = false;
  #olderRequest: Promise<void> | null = null;
  #localChanges = 0; // how often a message was changed here: what was read before that is old

  constructor() {
    this.#stream = new EventStream({
      getSubscription: () => ({
        discussion: this.#isMissing ? null : (this.openDiscussion?.id ?? null),
        after: this.openDiscussion ? eventCursors(this.openDiscussion) : [],
      }),
      onMissing: () => this.#markMissing(),
      onEvents: (events) => this.#queueEvents(events),
      onConnectionChange: (now) => (this.connection = now),
    });
    addEventListener("offline", () => this.#stream.dropConnection());
    addEventListener("online", () => this.#stream.reconnectNow());
    // A page that is left may be kept whole for the way back, and its connection with it.
    addEventListener("pagehide", () => this.#stream.suspend());
    addEventListener("pageshow", ({ persisted }) => persisted && this.#stream.reconnectNow());
    document.addEventListener("visibilitychange", () => {
      clearTimeout(this.#hiddenTimer);
      if (document.visibilityState === "visible") this.#stream.reconnectNow();
      else this.#hiddenTimer = setTimeout(() => this.#stream.suspend(), HIDDEN_TIMEOUT_MS);
    });
  }

  /** Find out who is here, and begin to listen. */
  async start(): Promise<void> {
    this.me = await callApi("GET /api/me");
    if (claimStorage(this.me.account)) location.reload();
    this.#stream.connect();
    await this.loadList();
  }

  /** Read the list anew, or the next page of it. */
  async loadList(more = false): Promise<void> {
    const shown = this.listFilter;
    const { q, status } = shown;
    const cursor = more ? this.discussionList.next : null;
    const asked = ++this.#listRequests;
    const begun = this.#connectionCount;
    this.#pendingListEvents = [];
    this.#isLoadingMore = more;
    try {
      const page = await callApi("GET /api/discussions", { query: { q, status: q ? null : status, cursor } });
      if (asked !== this.#listRequests) return;
      const isOther = this.loadedFilter !== shown;
      const before = isOther
        ? { ...this.discussionList, discussions: [], next: null, hits: [] }
        : this.discussionList;
      const read = more ? withNextPage(before, page) : withFirstPage(before, page);
      this.discussionList = applyListEvents(read, this.#pendingListEvents ?? [], shown);
      this.loadedFilter = shown;
      if (!more) this.#listConnectionCount = begun;
    } finally {
      if (asked === this.#listRequests) this.#finishListLoad(more);
    }
  }

  #finishListLoad(more: boolean): void {
    this.#pendingListEvents = null;
    this.#isLoadingMore = false;
    if (more) this.#reloadListIfStale();
  }

  /** Read the list anew where it may have changed while nobody listened; who waits for its next page gets that first. */
  #reloadListIfStale(): void {
    if (this.#connectionCount > this.#listConnectionCount && !this.#isLoadingMore)
      void this.loadList().catch(() => undefined);
  }

  /** Open a discussion: listen to it first, so that nothing is missed while it is read. */
  async enterDiscussion(id: string): Promise<void> {
    if (this.openDiscussion?.id === id) return;
    this.#applyQueuedEvents(); // what was heard until now belongs to what was open until now
    this.#isMissing = false;
    this.openDiscussion = emptyDiscussion(id);
    this.errorMessage = null;
    this.#pendingEvents = [];
    this.#olderRequest = null;
    this.#stream.connect();
    await this.#fetchOpen(id);
  }

  leaveDiscussion(): void {
    if (!this.openDiscussion) return;
    this.#applyQueuedEvents();
    this.#isMissing = false;
    this.openDiscussion = null;
    this.#pendingEvents = null;
    this.#olderRequest = null;
    this.#stream.connect();
  }

  /** Read the page before the oldest message that is there, once at a time. */
  loadOlder(): Promise<void> {
    if (this.#olderRequest) return this.#olderRequest;
    const reading = this.#fetchOlder().finally(() => {
      if (this.#olderRequest === reading) this.#olderRequest = null;
    });
    this.#olderRequest = reading;
    return reading;
  }

  async #fetchOlder(): Promise<void> {
    const open = this.openDiscussion;
    if (!open || open.olderCursor === null) return;
    const page = await callApi("GET /api/discussions/{id}", {
      path: { id: open.id },
      query: { before: open.olderCursor, limit: 100 },
    });
    if (this.openDiscussion?.id === open.id && this.openDiscussion.olderCursor === open.olderCursor)
      this.openDiscussion = withOlderPage(this.openDiscussion, page);
  }

  /** Read the newest page again, because something was changed that no event tells of. */
  async refreshOpen(): Promise<void> {
    if (this.openDiscussion) await this.#fetchOpen(this.openDiscussion.id);
  }

  /** Show one message as it is now, wherever it stands. */
  replaceMessage(message: Message): void {
    if (this.openDiscussion?.id !== message.discussion) return;
    this.#localChanges++;
    this.openDiscussion = withMessage(this.openDiscussion, message);
  }

  async #fetchOpen(id: string): Promise<void> {
    try {
      const query = { limit: 100 };
      const before = this.#localChanges;
      const page = await callApi("GET /api/discussions/{id}", { path: { id }, query });
      if (this.openDiscussion?.id !== id) return;
      if (this.#localChanges !== before) return await this.#fetchOpen(id);
      this.openDiscussion = applyEvents(withPage(this.openDiscussion, page), this.#pendingEvents ?? []);
      this.#pendingEvents = null;
      this.errorMessage = null;
    } catch (error) {
      if (this.openDiscussion?.id === id && !this.openDiscussion.discussion)
        this.errorMessage = (error as Error).message;
      else if (!(error instanceof ApiError)) throw error;
    }
  }

  #markMissing(): void {
    this.#isMissing = true;
    if (this.openDiscussion?.discussion) this.openDiscussion = { ...this.openDiscussion, isDeleted: true };
  }

  /** Gather what comes within a frame, so that many voices cost one change of the state. */
  #queueEvents(events: StreamEvent[]): void {
    this.#eventQueue.push(...events);
    if (document.visibilityState === "hidden") this.#applyQueuedEvents();
    else this.#frameRequest ||= requestAnimationFrame(() => this.#applyQueuedEvents());
  }

  #applyQueuedEvents(): void {
    cancelAnimationFrame(this.#frameRequest);
    this.#frameRequest = 0;
    const events = this.#eventQueue;
    this.#eventQueue = [];
    this.discussionList = applyListEvents(this.discussionList, events, this.listFilter);
    this.#pendingListEvents?.push(...events.filter(isListEvent));
    if (this.#pendingEvents) this.#pendingEvents.push(...events);
    else if (this.openDiscussion) this.openDiscussion = applyEvents(this.openDiscussion, events);
    // All that goes on is told when a connection begins: what was read before that may be old, also just after entering.
    this.#connectionCount += events.filter((event) => event.type === "activity").length;
    if (events.some((event) => this.#shouldRefresh(event))) this.#scheduleRefresh();
  }

  /** Tell whether something was stored of which the event does not tell all. */
  #shouldRefresh(event: StreamEvent): boolean {
    if (event.type === "discussion_changed") return event.discussion.id === this.openDiscussion?.id;
    return event.type === "turn_ended" || event.type === "run_ended" || event.type === "activity";
  }

  /** Read the ids of what ended, and what else only the stored messages have. */
  #scheduleRefresh(): void {
    clearTimeout(this.#refreshTimer);
    this.#refreshTimer = setTimeout(() => {
      void this.refreshOpen();
      this.#reloadListIfStale();
    }, REFRESH_DELAY_MS);
  }
}

export const session = new Session();
