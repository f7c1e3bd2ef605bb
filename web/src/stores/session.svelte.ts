/** Session state: connects the event stream to the state that components render. */

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

const HIDDEN_TIMEOUT_MS = 30_000; // milliseconds after which a hidden page closes its connection
const REFRESH_DELAY_MS = 250; // milliseconds between the end of a turn and the reload of stored messages

class Session {
  me = $state.raw<Me | null>(null);
  connection = $state.raw<ConnectionStatus>("connecting");
  /** While disconnected, no events arrive and no request can succeed. */
  readonly isDisconnected = $derived(this.connection === "lost");
  discussionList = $state.raw<DiscussionList>(EMPTY_LIST);
  listFilter = $state.raw<ListFilter>({ q: "", status: "active" });
  /** The filter of the list that is shown. It stays until another list is loaded. */
  loadedFilter = $state.raw<ListFilter | null>(null);
  openDiscussion = $state.raw<OpenDiscussion | null>(null);
  /** Why the open discussion cannot be shown. */
  errorMessage = $state.raw<string | null>(null);

  #stream: EventStream;
  #listRequests = 0; // number of list requests; only the last response counts
  #pendingListEvents: StreamEvent[] | null = null; // events that arrive while the list is loading
  #isLoadingMore = false; // whether the pending request is for the next page
  #connectionCount = 0; // number of connections; events before the current one were missed
  #listConnectionCount = 0; // value of #connectionCount when the shown list was requested
  #pendingEvents: StreamEvent[] | null = null; // events that arrive before the open discussion is loaded
  #eventQueue: StreamEvent[] = [];
  #frameRequest = 0;
  #refreshTimer: ReturnType<typeof setTimeout> | undefined;
  #hiddenTimer: ReturnType<typeof setTimeout> | undefined;
  #isMissing = false;
  #olderRequest: Promise<void> | null = null;
  #localChanges = 0; // number of local message changes; pages requested before one are stale

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
    // The browser may keep the page in its back/forward cache, together with the connection.
    addEventListener("pagehide", () => this.#stream.suspend());
    addEventListener("pageshow", ({ persisted }) => persisted && this.#stream.reconnectNow());
    document.addEventListener("visibilitychange", () => {
      clearTimeout(this.#hiddenTimer);
      if (document.visibilityState === "visible") this.#stream.reconnectNow();
      else this.#hiddenTimer = setTimeout(() => this.#stream.suspend(), HIDDEN_TIMEOUT_MS);
    });
  }

  /** Load the account and open the event stream. */
  async start(): Promise<void> {
    this.me = await callApi("GET /api/me");
    if (claimStorage(this.me.account)) location.reload();
    this.#stream.connect();
    await this.loadList();
  }

  /** Reload the list, or load its next page. */
  async loadList(more = false): Promise<void> {
    const shown = this.listFilter;
    const { q, status } = shown;
    const cursor = more ? this.discussionList.next : null;
    const asked = ++this.#listRequests;
    const connectionCount = this.#connectionCount;
    this.#pendingListEvents = [];
    this.#isLoadingMore = more;
    try {
      const page = await callApi("GET /api/discussions", { query: { q, status: q ? null : status, cursor } });
      if (asked !== this.#listRequests) return;
      const isOther = this.loadedFilter !== shown;
      const before = isOther ? { ...this.discussionList, discussions: [], next: null, hits: [] } : this.discussionList;
      const read = more ? withNextPage(before, page) : withFirstPage(before, page);
      this.discussionList = applyListEvents(read, this.#pendingListEvents ?? [], shown);
      this.loadedFilter = shown;
      if (!more) this.#listConnectionCount = connectionCount;
    } finally {
      if (asked === this.#listRequests) this.#finishListLoad(more);
    }
  }

  #finishListLoad(more: boolean): void {
    this.#pendingListEvents = null;
    this.#isLoadingMore = false;
    if (more) this.#reloadListIfStale();
  }

  /** Reload the list if events may have been missed. A pending request for the next page finishes first. */
  #reloadListIfStale(): void {
    if (this.#connectionCount > this.#listConnectionCount && !this.#isLoadingMore)
      void this.loadList().catch(() => undefined);
  }

  /** Open a discussion. Subscribes before loading, so that no event is missed. */
  async enterDiscussion(id: string): Promise<void> {
    if (this.openDiscussion?.id === id) return;
    this.#applyQueuedEvents(); // queued events belong to the previously open discussion
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

  /** Load the page before the oldest loaded message. One request at a time. */
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

  /** Reload the newest page, after a change that emits no event. */
  async refreshOpen(): Promise<void> {
    if (this.openDiscussion) await this.#fetchOpen(this.openDiscussion.id);
  }

  /** Update one message in place. */
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

  /** Batch the events of one frame, so that many streams cost one state update. */
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
    // A new connection starts with the current activity. Anything loaded before may be stale.
    this.#connectionCount += events.filter((event) => event.type === "activity").length;
    if (events.some((event) => this.#shouldRefresh(event))) this.#scheduleRefresh();
  }

  /** Return whether an event means that stored data changed and must be reloaded. */
  #shouldRefresh(event: StreamEvent): boolean {
    if (event.type === "discussion_changed") return event.discussion.id === this.openDiscussion?.id;
    return event.type === "turn_ended" || event.type === "run_ended" || event.type === "activity";
  }

  /** Load message ids and other fields that only stored messages have. */
  #scheduleRefresh(): void {
    clearTimeout(this.#refreshTimer);
    this.#refreshTimer = setTimeout(() => {
      void this.refreshOpen();
      this.#reloadListIfStale();
    }, REFRESH_DELAY_MS);
  }
}

export const session = new Session();
