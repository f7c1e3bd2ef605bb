"""Event stream of a discussion: its changes and the events of all its runs, merged for one client."""

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from typing import assert_never

from moot.engine.events.discussion_changes import DiscussionChanges, encode_change
from moot.engine.events.hub import EventHub
from moot.store.runs.event_log import EventLog, RunProgress
from moot.streaming.cancellation import cancel_tasks
from moot.types.discussions import Activity, DiscussionChanged, DiscussionDeleted, DiscussionEvent
from moot.types.streams import HEARTBEAT, BatchStream, Heartbeat


class StreamMerger:
    """Merges streams with backpressure: a slow client buffers at most one batch per stream."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._batches: list[list[bytes] | Heartbeat] = []
        self._batch_ready = asyncio.Event()
        self._batches_consumed = asyncio.Event()  # for the buffered batches; replaced when they are taken
        self._error: BaseException | None = None

    def add_stream(self, stream: BatchStream[bytes]) -> None:
        self._tasks.add(task := asyncio.create_task(self._read_stream(stream)))
        task.add_done_callback(self._on_stream_done)

    async def merge_streams(self, first: BatchStream[bytes]) -> BatchStream[bytes]:
        """Yield the batches of all streams until all have ended; raise the first error of a stream.

        Closing this iterator cancels all streams.
        """
        self.add_stream(first)
        try:
            while self._tasks or self._batches:
                await self._batch_ready.wait()
                self._batch_ready.clear()
                if self._error is not None:
                    raise self._error
                batches, self._batches = self._batches, []
                consumed, self._batches_consumed = self._batches_consumed, asyncio.Event()
                if batches:
                    yield [frame for batch in batches for frame in batch] or HEARTBEAT
                consumed.set()
        finally:
            await cancel_tasks(*self._tasks)

    async def _read_stream(self, stream: BatchStream[bytes]) -> None:
        async with aclosing(stream):
            async for batch in stream:
                self._batches.append(batch)
                self._batch_ready.set()
                await self._batches_consumed.wait()

    def _on_stream_done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            self._error = self._error or task.exception()
        self._batch_ready.set()


class DiscussionSubscription:
    """One client's subscription.

    `progress` is the status of each run when the client connected. `after` is the last sequence number it has, by run.
    """

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
        self._finished_runs = {run: known for run, known in progress.items() if not known.live and run not in after}
        self._sent_seqs = dict(after)
        self._pending_progress: dict[str, RunProgress] = {}  # runs that may have more events to send
        self._subscribed_runs: set[str] = set()
        self._merger = StreamMerger()

    def stream_frames(self) -> BatchStream[bytes]:
        """Yield SSE frames of changes and run events."""
        return self._merger.merge_streams(self._change_frames())

    async def _change_frames(self) -> BatchStream[bytes]:
        async with aclosing(self._changes.watch_changes(self._tenant)) as watched:
            async for changes in watched:
                if any(self._affects_runs(change) for change in changes):
                    await self._check_runs()
                yield [encode_change(change) for change in changes] or HEARTBEAT

    def _affects_runs(self, change: DiscussionEvent) -> bool:
        """Whether a run of the discussion may have started or ended."""
        match change:
            case Activity():
                return True
            case DiscussionChanged():
                return change.discussion.id == self._discussion
            case DiscussionDeleted():
                return change.id == self._discussion
        assert_never(change)

    async def _check_runs(self) -> None:
        progress = await self._events.discussion_progress(self._tenant, self._discussion)
        for run, current in progress.items():
            if self._finished_runs.get(run) == current:
                continue  # no new events since the client connected
            self._finished_runs.pop(run, None)
            self._pending_progress[run] = current
            if run not in self._subscribed_runs and self._has_more(run, current):
                self._subscribed_runs.add(run)
                self._merger.add_stream(self._run_frames(run))

    def _has_more(self, run: str, progress: RunProgress) -> bool:
        """Whether the run has events to send, according to `progress`.

        If a live run was sent beyond `last_seq`, `progress` is stale; a later check decides.
        """
        sent = self._sent_seqs.get(run, 0)
        return progress.last_seq >= sent if progress.live else progress.last_seq > sent

    async def _run_frames(self, run: str) -> BatchStream[bytes]:
        """Yield the events of a run until its end. If a retry continued it meanwhile, yield those of the retry too."""
        while (current := self._pending_progress.pop(run, None)) is not None and self._has_more(run, current):
            async with aclosing(self._event_hub.subscribe(run, self._sent_seqs.get(run, 0), current)) as frames:
                async for batch in frames:
                    self._sent_seqs[run] = self._sent_seqs.get(run, 0) + len(batch)
                    yield batch
            if current.live and self._sent_seqs.get(run, 0) == current.last_seq:
                # The stream ended at a `run_ended` event, but a retry continued the run: subscribe again.
                self._pending_progress.setdefault(run, current)
        self._subscribed_runs.discard(run)
