"""Merges the event streams of all runs of a discussion for one subscriber."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import assert_never

from moot.engine.events.discussion_changes import Changes, frame
from moot.engine.events.hub import Feeds
from moot.store.runs.event_log import Events, Standing
from moot.types.discussion_events import Activity, Change, DiscussionChanged, DiscussionDeleted

Frames = AsyncGenerator[list[bytes], None]


class Confluence:
    """What one reader reads. While it does not read, one batch of every stream waits, and no more."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._brought: list[list[bytes]] = []
        self._news = asyncio.Event()
        self._taken = asyncio.Event()  # what waits now; what comes later waits for another one
        self._error: BaseException | None = None

    def add(self, stream: Frames) -> None:
        """Let another stream flow into this one."""
        self._tasks.add(task := asyncio.create_task(self._bring(stream)))
        task.add_done_callback(self._ended)

    async def flow(self, first: Frames) -> Frames:
        """Yield what a stream brings, and all that are added, until all have ended or one has failed.

        Whoever leaves ends them all.
        """
        self.add(first)
        try:
            while self._tasks or self._brought:
                await self._news.wait()
                self._news.clear()
                if self._error is not None:
                    raise self._error
                brought, self._brought = self._brought, []
                taken, self._taken = self._taken, asyncio.Event()
                if brought:
                    yield [frame for some in brought for frame in some]
                taken.set()
        finally:
            await self._end()

    async def _bring(self, stream: Frames) -> None:
        async with aclosing(stream):
            async for some in stream:
                self._brought.append(some)
                self._news.set()
                await self._taken.wait()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            self._error = self._error or task.exception()
        self._news.set()

    async def _end(self) -> None:
        ending = tuple(self._tasks)
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)


class Following:
    """`found` is how the runs stood when the reader came, `after` the numbers of the last events that it has."""

    def __init__(
        self,
        changes: Changes,
        events: Events,
        feeds: Feeds,
        *,
        tenant: str,
        discussion: str,
        found: Mapping[str, Standing],
        after: Mapping[str, int],
    ) -> None:
        self._changes = changes
        self._events = events
        self._feeds = feeds
        self._tenant = tenant
        self._discussion = discussion
        self._over = {run: stood for run, stood in found.items() if not stood.live and run not in after}
        self._sent = dict(after)
        self._due: dict[str, Standing] = {}  # how runs were found that may have more to send
        self._followed: set[str] = set()
        self._confluence = Confluence()

    def frames(self) -> Frames:
        """Return all that is sent, from now on; an empty list is: still here."""
        return self._confluence.flow(self._told())

    async def _told(self) -> Frames:
        async with aclosing(self._changes.watch(self._tenant)) as watched:
            async for changes in watched:
                if any(self._concerns(change) for change in changes):
                    await self._look()
                yield [frame(change) for change in changes]

    def _concerns(self, change: Change) -> bool:
        """Tell whether a run of the discussion may have begun, or ended."""
        match change:
            case Activity():
                return True
            case DiscussionChanged():
                return change.discussion.id == self._discussion
            case DiscussionDeleted():
                return change.id == self._discussion
        assert_never(change)

    async def _look(self) -> None:
        for run, standing in (await self._events.standings(self._tenant, self._discussion)).items():
            if self._over.get(run) == standing:
                continue  # since the reader came, nothing was added
            self._over.pop(run, None)
            self._due[run] = standing
            if run not in self._followed and self._has_more(run, standing):
                self._followed.add(run)
                self._confluence.add(self._run(run))

    def _has_more(self, run: str, standing: Standing) -> bool:
        """Tell whether more of a run is to be sent, by how it was found.

        One that was live then, and of which more was sent since, may have ended; a later look will tell.
        """
        sent = self._sent.get(run, 0)
        return standing.newest >= sent if standing.live else standing.newest > sent

    async def _run(self, run: str) -> Frames:
        """Yield the events of a run to its end, and those after it if it was found to go on meanwhile."""
        while (standing := self._due.pop(run, None)) is not None and self._has_more(run, standing):
            async with aclosing(self._feeds.follow(run, self._sent.get(run, 0), standing)) as frames:
                async for some in frames:
                    self._sent[run] = self._sent.get(run, 0) + len(some)
                    yield some
            if standing.live and self._sent.get(run, 0) == standing.newest:
                self._due.setdefault(run, standing)  # what was the end then is none any more
        self._followed.discard(run)
