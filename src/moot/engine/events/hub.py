"""Fan-out of the event log to the SSE clients of this process: one run, or all runs of a discussion.

Each event is encoded once for all subscribers of its run. A `RunStream` exists while it has subscribers. A subscriber
holds only the last sequence number it sent; events that left the buffer are read from the database.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from itertools import islice
from typing import assert_never

import msgspec

from moot.engine import telemetry
from moot.engine.events.discussion_changes import DiscussionChanges, encode_change
from moot.store.database import retry_while_unavailable
from moot.store.runs.event_log import EventLog, RunProgress
from moot.streaming.cancellation import cancel_tasks
from moot.types.discussions import Activity, DiscussionChanged, DiscussionDeleted, DiscussionEvent
from moot.types.errors import DatabaseUnavailable
from moot.types.events import Event
from moot.types.streams import HEARTBEAT, BatchStream, Heartbeat

MAX_BUFFERED_FRAMES = 1000
POLL_SECONDS = 5.0
RUN_ENDED_PREFIX = '{"type":"run_ended"'
DATA_FIELD = b"\ndata: "

_DECODER = msgspec.json.Decoder(Event)


def decode_frame(frame: bytes) -> Event:
    """Parse the event of an SSE frame."""
    event: Event = _DECODER.decode(frame.partition(DATA_FIELD)[2])
    return event


async def read_run_events(log: EventLog, run: str, last_seq: int | None = None) -> list[Event]:
    """Read the events of a run from the database, up to `last_seq` if it is set."""
    events: list[Event] = []
    while page := await log.read_events(run, events[-1].seq if events else 0):
        events += [_DECODER.decode(body) for _, body in page]
        if last_seq is not None and events[-1].seq >= last_seq:
            return [event for event in events if event.seq <= last_seq]
    return events


class RunStream:
    """The newest events of one run, as SSE frames, without gaps."""

    def __init__(self, run: str, events: EventLog) -> None:
        self.readers = 0
        self._run = run
        self._events = events
        self._frames: deque[bytes] = deque(maxlen=MAX_BUFFERED_FRAMES)
        self._last_seq: int | None = None  # of the newest buffered frame; None while the position is unknown
        self._newest_seq = 0  # highest known in the log, by any process; a notification may be wrong
        self.has_local_events = False  # published by this process since the last poll
        self._end_seq: int | None = None  # of the last `run_ended`, unless a retry continued the run
        self._live_until_seq = 0  # the run was live at this event, so an earlier `run_ended` is not the end
        self._waiters: list[asyncio.Future[None]] = []
        self._catch_up_lock = asyncio.Lock()

    def add_events(self, first: int, bodies: Sequence[str]) -> None:
        """Buffer events. After a gap nothing is buffered; subscribers then read from the database."""
        self._newest_seq = max(self._newest_seq, first + len(bodies) - 1)
        if self._last_seq is None:
            self._last_seq = first - 1
        if first <= self._last_seq + 1:
            for seq, body in enumerate(bodies, first):
                if seq > self._last_seq:
                    self._frames.append(self._encode_frame(seq, body))
                    self._last_seq = seq
        self.wake_readers()

    def update_newest_seq(self, seq: int) -> None:
        """Record that the log has events up to `seq`, from this process or another."""
        if seq > self._newest_seq:
            self._newest_seq = seq
            self.wake_readers()

    def wake_readers(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def new_waiter(self) -> asyncio.Future[None]:
        """Return a future for a subscriber that is up to date; the next event or poll resolves it."""
        self._waiters.append(waiter := asyncio.get_running_loop().create_future())
        return waiter

    def apply_progress(self, progress: RunProgress) -> None:
        """Apply the stored status. A live run has no end: a retry may continue it after a `run_ended` event."""
        self._newest_seq = max(self._newest_seq, progress.last_seq)
        if progress.live:
            self._live_until_seq = max(self._live_until_seq, progress.last_seq)
            if self._end_seq is not None and self._end_seq <= progress.last_seq:
                self._end_seq = None

    def is_over(self, seq: int) -> bool:
        """Whether the run has ended at `seq` and the log has no later event."""
        return self._end_seq is not None and seq >= self._end_seq >= self._newest_seq

    def buffered_frames(self, seq: int) -> list[bytes]:
        """Return the frames after `seq`; empty if some of them left the buffer."""
        behind = 0 if self._last_seq is None else self._last_seq - seq
        return list(islice(reversed(self._frames), behind))[::-1] if 0 < behind <= len(self._frames) else []

    def is_up_to_date(self, seq: int) -> bool:
        return self._last_seq is not None and seq >= self._last_seq >= self._newest_seq

    @retry_while_unavailable
    async def read_stored_frames(self, seq: int) -> list[bytes]:
        """Read a page of frames after `seq` from the database; empty if there is none yet."""
        if self._last_seq is not None and seq >= self._last_seq:
            await self._catch_up()
            return self.buffered_frames(seq)
        behind = self._last_seq is not None
        rows = await self._events.read_events(self._run, seq)
        if rows:
            self._newest_seq = max(self._newest_seq, rows[-1][0])
        elif self._last_seq is None:  # this subscriber is up to date, so the buffer starts here
            self._last_seq = seq
        elif behind:  # the log had later events, so the run was deleted
            self._end_seq = self._newest_seq = seq
        return [self._encode_frame(number, body) for number, body in rows]

    async def _catch_up(self) -> None:
        """Read events of another process; the lock makes it one query for all subscribers."""
        async with self._catch_up_lock:
            last, known = self._last_seq or 0, self._newest_seq
            if last < known:
                if rows := await self._events.read_events(self._run, last):
                    self.add_events(rows[0][0], [body for _, body in rows])
                elif self._newest_seq == known:  # a false notification; forget it, or subscribers poll in a loop
                    self._newest_seq = self._last_seq or 0

    def _encode_frame(self, seq: int, body: str) -> bytes:
        if body.startswith(RUN_ENDED_PREFIX):
            if seq > self._live_until_seq:
                self._end_seq = max(seq, self._end_seq or 0)
        elif self._end_seq is not None and seq > self._end_seq:  # a retry continued the run
            self._end_seq = None
        return f"id: {seq}\ndata: {body}\n\n".encode()


class EventHub:
    def __init__(self, events: EventLog) -> None:
        self._events = events
        self._streams: dict[str, RunStream] = {}
        self._gap_event = asyncio.Event()

    def publish(self, run: str, first: int, bodies: Sequence[str]) -> None:
        """Buffer events that this process has just committed, and wake their subscribers."""
        if stream := self._streams.get(run):
            stream.add_events(first, bodies)
            stream.has_local_events = True

    def on_notify(self, signal: str) -> None:
        """Handle a database notification of events that another process wrote."""
        for run, newest in self._events.read_signal(signal):
            if stream := self._streams.get(run):
                stream.update_newest_seq(newest)

    def on_gap(self) -> None:
        """Handle a lost connection: notifications may be missing, so poll at once."""
        self._gap_event.set()

    async def poll_forever(self) -> None:
        """Poll regularly, because a notification may be lost. Limits the delay to `POLL_SECONDS`."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self._gap_event.wait()
            self._gap_event.clear()
            await self.poll()

    async def poll(self) -> None:
        """Query the log for events of other processes, and wake all subscribers.

        Runs with events from this process are skipped. A woken subscriber without events sends a heartbeat.
        """
        remote = [run for run, stream in self._streams.items() if not stream.has_local_events]
        newest: dict[str, int] = {}
        with contextlib.suppress(DatabaseUnavailable):  # the next poll retries
            newest = await self._events.newest_seqs(remote) if remote else {}
        for run, stream in self._streams.items():
            stream.has_local_events = False
            stream.update_newest_seq(newest.get(run, 0))
            stream.wake_readers()

    async def subscribe(self, run: str, after: int, progress: RunProgress | None = None) -> BatchStream[bytes]:
        """Yield frames after sequence number `after` until the run ends.

        `progress` is the stored status, which may be newer than the events this process has seen.
        """
        stream = self._streams.setdefault(run, RunStream(run, self._events))
        if progress is not None:
            stream.apply_progress(progress)
        stream.readers += 1
        telemetry.EVENT_READERS.inc()
        try:
            while not stream.is_over(after):
                if not (frames := stream.buffered_frames(after)):
                    if stream.is_up_to_date(after):
                        await stream.new_waiter()
                        frames = stream.buffered_frames(after)
                    elif not (frames := await stream.read_stored_frames(after)):
                        continue
                after += len(frames)
                yield frames or HEARTBEAT
        finally:
            telemetry.EVENT_READERS.dec()
            stream.readers -= 1
            if not stream.readers:
                self._streams.pop(run, None)


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
        """Yield the events of a run until its end, and further events if a retry continued it meanwhile."""
        while (current := self._pending_progress.pop(run, None)) is not None and self._has_more(run, current):
            async with aclosing(self._event_hub.subscribe(run, self._sent_seqs.get(run, 0), current)) as frames:
                async for batch in frames:
                    self._sent_seqs[run] = self._sent_seqs.get(run, 0) + len(batch)
                    yield batch
            if current.live and self._sent_seqs.get(run, 0) == current.last_seq:
                # The stream ended at a `run_ended` event, but a retry continued the run: subscribe again.
                self._pending_progress.setdefault(run, current)
        self._subscribed_runs.discard(run)
