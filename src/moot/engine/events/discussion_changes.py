"""Who watches what changes in a tenant's discussions: each watcher holds the ids of what to look at, no more."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

import msgspec

from moot.store.discussions.discussions import Discussions
from moot.store.runs.approvals import Permissions
from moot.types.discussion_events import Activity, Change, DiscussionChanged, DiscussionDeleted
from moot.types.discussions import Run
from moot.types.errors import NotFound

MOST_WAITING = 200  # ids; a watcher with more starts again from everything
HEARTBEAT_SECONDS = 5.0


class Watcher:
    def __init__(self) -> None:
        self.news = asyncio.Event()
        self._ids: dict[str, None] = {}
        self._missed = True

    def tell(self, id: str) -> None:
        self._ids[id] = None
        if len(self._ids) > MOST_WAITING:
            self.miss()
        self.news.set()

    def miss(self) -> None:
        self._ids.clear()
        self._missed = True
        self.news.set()

    def take(self) -> tuple[bool, list[str]]:
        """Return whether everything has to be told anew, and else what has changed."""
        missed, ids = self._missed, list(self._ids)
        self._missed = False
        self._ids.clear()
        self.news.clear()
        return missed, ids


class Changes:
    def __init__(self, discussions: Discussions, permissions: Permissions) -> None:
        self._discussions = discussions
        self._permissions = permissions
        self._watchers: defaultdict[str, set[Watcher]] = defaultdict(set)

    def told(self, payload: str) -> None:
        """Hear of a change: the tenant, a space, and the discussion."""
        tenant, _, id = payload.partition(" ")
        for watcher in self._watchers.get(tenant, ()):
            watcher.tell(id)

    def missed(self) -> None:
        for watchers in self._watchers.values():
            for watcher in watchers:
                watcher.miss()

    async def follow(self, tenant: str) -> AsyncGenerator[list[bytes], None]:
        """Yield changes as they are sent."""
        async with aclosing(self.watch(tenant)) as watched:
            async for changes in watched:
                yield [frame(change) for change in changes]

    async def watch(self, tenant: str) -> AsyncGenerator[list[Change], None]:
        """Yield changes, beginning with all that goes on; an empty list is: still here."""
        watcher = Watcher()
        self._watchers[tenant].add(watcher)
        try:
            while True:
                missed, ids = watcher.take()
                yield (
                    [await self._everything(tenant)]
                    if missed
                    else [await self._one(tenant, id) for id in ids]
                )
                with suppress(TimeoutError):
                    async with asyncio.timeout(HEARTBEAT_SECONDS):
                        await watcher.news.wait()
        finally:
            self._watchers[tenant].discard(watcher)
            if not self._watchers[tenant]:
                del self._watchers[tenant]

    async def _everything(self, tenant: str) -> Change:
        return Activity(*await self._going_on(tenant))

    async def _one(self, tenant: str, id: str) -> Change:
        try:
            discussion = await self._discussions.get(tenant, id)
        except NotFound:
            return DiscussionDeleted(id)
        return DiscussionChanged(discussion, *await self._going_on(tenant, id))

    async def _going_on(self, tenant: str, id: str | None = None) -> tuple[tuple[Run, ...], tuple[str, ...]]:
        """Find the live runs, and those of them that wait for a person."""
        runs = await self._discussions.live_runs(tenant, id)
        return runs, await self._permissions.asking([run.id for run in runs])


def frame(change: Change) -> bytes:
    return b"data: " + msgspec.json.encode(change) + b"\n\n"
