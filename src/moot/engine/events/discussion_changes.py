"""Stream of changes in a tenant's discussions.

A watcher buffers discussion ids only. It queries the current state when it sends them.
"""

import asyncio
from collections import defaultdict
from contextlib import aclosing, suppress

import msgspec

from moot.store.discussions.discussions import Discussions
from moot.store.runs.approvals import Approvals
from moot.types.discussions import Activity, DiscussionChanged, DiscussionDeleted, DiscussionEvent, Run
from moot.types.errors import NotFound
from moot.types.streams import HEARTBEAT, BatchStream

MAX_PENDING_IDS = 200  # with more, a watcher drops them and sends a full snapshot
HEARTBEAT_SECONDS = 5.0


class ChangeWatcher:
    """The pending changes of one subscriber. It starts with a gap, so that the first event is a full snapshot."""

    def __init__(self) -> None:
        self.wake_event = asyncio.Event()
        self._changed_ids: dict[str, None] = {}
        self._has_gap = True

    def add_change(self, id: str) -> None:
        self._changed_ids[id] = None
        if len(self._changed_ids) > MAX_PENDING_IDS:
            self.mark_gap()
        self.wake_event.set()

    def mark_gap(self) -> None:
        self._changed_ids.clear()
        self._has_gap = True
        self.wake_event.set()

    def take_changes(self) -> tuple[bool, list[str]]:
        """Return whether a full snapshot is due, and the ids that changed; reset both."""
        missed, ids = self._has_gap, list(self._changed_ids)
        self._has_gap = False
        self._changed_ids.clear()
        self.wake_event.clear()
        return missed, ids


class DiscussionChanges:
    def __init__(self, discussions: Discussions, approvals: Approvals) -> None:
        self._discussions = discussions
        self._approvals = approvals
        self._watchers: defaultdict[str, set[ChangeWatcher]] = defaultdict(set)

    def on_notify(self, payload: str) -> None:
        """Handle a database notification; the payload is the tenant, a space, and the discussion id."""
        tenant, _, id = payload.partition(" ")
        for watcher in self._watchers.get(tenant, ()):
            watcher.add_change(id)

    def on_gap(self) -> None:
        """Handle a lost connection: notifications may be missing, so every watcher gets a full snapshot."""
        for watchers in self._watchers.values():
            for watcher in watchers:
                watcher.mark_gap()

    async def stream_frames(self, tenant: str) -> BatchStream[bytes]:
        """Yield changes as SSE frames."""
        async with aclosing(self.watch_changes(tenant)) as watched:
            async for changes in watched:
                yield [encode_change(change) for change in changes] or HEARTBEAT

    async def watch_changes(self, tenant: str) -> BatchStream[DiscussionEvent]:
        """Yield a snapshot of all live runs first, then changes."""
        watcher = ChangeWatcher()
        self._watchers[tenant].add(watcher)
        try:
            while True:
                missed, ids = watcher.take_changes()
                if missed:
                    yield [Activity(*await self._live_and_waiting_runs(tenant))]
                else:
                    yield [await self._discussion_change(tenant, id) for id in ids] or HEARTBEAT
                with suppress(TimeoutError):
                    async with asyncio.timeout(HEARTBEAT_SECONDS):
                        await watcher.wake_event.wait()
        finally:
            self._watchers[tenant].discard(watcher)
            if not self._watchers[tenant]:
                del self._watchers[tenant]

    async def _discussion_change(self, tenant: str, id: str) -> DiscussionEvent:
        try:
            discussion = await self._discussions.get_discussion(tenant, id)
        except NotFound:
            return DiscussionDeleted(id)
        return DiscussionChanged(discussion, *await self._live_and_waiting_runs(tenant, id))

    async def _live_and_waiting_runs(
        self, tenant: str, id: str | None = None
    ) -> tuple[tuple[Run, ...], tuple[str, ...]]:
        """Return the live runs, and the ids of those that wait for an approval."""
        runs = await self._discussions.live_runs(tenant, id)
        return runs, await self._approvals.runs_awaiting_approval([run.id for run in runs])


def encode_change(change: DiscussionEvent) -> bytes:
    return b"data: " + msgspec.json.encode(change) + b"\n\n"
