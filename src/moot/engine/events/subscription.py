"""Merges the event streams of all runs of a discussion for one subscriber."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import assert_never

from moot.engine.events.discussion_changes import DiscussionChanges, encode_change
from moot.engine.events.hub import EventHub
from moot.store.runs.event_log import EventLog, RunProgress
from moot.types.discussion_events import Activity, DiscussionChanged, DiscussionDeleted, DiscussionEvent

FrameStream = AsyncGenerator[list[bytes], None]


class StreamMerger:
    """What one reader reads. While it does not read, one batch of every stream waits, and no more."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._batches: list[list[bytes]] = []
        self._batch_ready = asyncio.Event()
        self._batches_consumed = asyncio.Event()  # what waits now; what comes later waits for another one
        self._error: BaseException | None = None

    def add_stream(self, stream: FrameStream) -> None:
        """Let another stream flow into this one."""
        self._tasks.add(task := asyncio.create_task(self._read_stream(stream)))
        task.add_done_callback(self._on_stream_done)

    async def merge_streams(self, first: FrameStream) -> FrameStream:
        """Yield what a stream brings, and all that are added, until all have ended or one has failed.

        Whoever leaves ends them all.
        """
        self.add_stream(first)
        try:
            while self._tasks or self._batches:
                await self._batch_ready.wait()
                self._batch_ready.clear()
                if self._error is not None:
                    raise self._error
                brought, self._batches = self._batches, []
                taken, self._batches_consumed = self._batches_consumed, asyncio.Event()
                if brought:
                    yield [frame for some in brought for frame in some]
                taken.set()
        finally:
            await self._cancel_streams()

    async def _read_stream(self, stream: FrameStream) -> None:
        async with aclosing(stream):
            async for some in stream:
                self._batches.append(some)
                self._batch_ready.set()
                await self._batches_consumed.wait()

    def _on_stream_done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            self._error = self._error or task.exception()
        self._batch_ready.set()

    async def _cancel_streams(self) -> None:
        ending = tuple(self._tasks)
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)


class DiscussionSubscription:
    """`found` is how the runs stood when the reader came, `after` the numbers of the last events that it has."""

    def __init__(
        self,
        changes: DiscussionChanges,
        events: EventLog,
        event_hub: EventHub,
        *,
        tenant: str,
        discussion: str,
        progress: Mapping[str, RunProgress],
        after: Mapping[str, int],
    ) -> None:
        self._changes = changes
        self._events = events
        self._event_hub = event_hub
        self._tenant = tenant
        self._discussion = discussion
        self._finished_runs = {
            run: stood for run, stood in progress.items() if not stood.live and run not in after
        }
        self._sent_seqs = dict(after)
        self._pending_progress: dict[str, RunProgress] = {}  # how runs were found that may have more to send
        self._subscribed_runs: set[str] = set()
        self._merger = StreamMerger()

    def stream_frames(self) -> FrameStream:
        """Return all that is sent, from now on; an empty list is: still here."""
        return self._merger.merge_streams(self._change_frames())

    async def _change_frames(self) -> FrameStream:
        async with aclosing(self._changes.watch_changes(self._tenant)) as watched:
            async for changes in watched:
                if any(self._affects_runs(change) for change in changes):
                    await self._check_runs()
                yield [encode_change(change) for change in changes]

    def _affects_runs(self, change: DiscussionEvent) -> bool:
        """Tell whether a run of the discussion may have begun, or ended."""
        match change:
            case Activity():
                return True
            case DiscussionChanged():
                return change.discussion.id == self._discussion
            case DiscussionDeleted():
                return change.id == self._discussion
        assert_never(change)

    async def _check_runs(self) -> None:
        for run, standing in (await self._events.discussion_progress(self._tenant, self._discussion)).items():
            if self._finished_runs.get(run) == standing:
                continue  # since the reader came, nothing was added
            self._finished_runs.pop(run, None)
            self._pending_progress[run] = standing
            if run not in self._subscribed_runs and self._has_more(run, standing):
                self._subscribed_runs.add(run)
                self._merger.add_stream(self._run_frames(run))

    def _has_more(self, run: str, progress: RunProgress) -> bool:
        """Tell whether more of a run is to be sent, by how it was found.

        One that was live then, and of which more was sent since, may have ended; a later look will tell.
        """
        sent = self._sent_seqs.get(run, 0)
        return progress.last_seq >= sent if progress.live else progress.last_seq > sent

    async def _run_frames(self, run: str) -> FrameStream:
        """Yield the events of a run to its end, and those after it if it was found to go on meanwhile."""
        while (standing := self._pending_progress.pop(run, None)) is not None and self._has_more(
            run, standing
        ):
            async with aclosing(
                self._event_hub.subscribe(run, self._sent_seqs.get(run, 0), standing)
            ) as frames:
                async for some in frames:
                    self._sent_seqs[run] = self._sent_seqs.get(run, 0) + len(some)
                    yield some
            if standing.live and self._sent_seqs.get(run, 0) == standing.last_seq:
                self._pending_progress.setdefault(run, standing)  # what was the end then is none any more
        self._subscribed_runs.discard(run)
