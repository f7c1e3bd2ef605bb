"""Fan-out of the event log to the SSE clients of this process.

Each event is encoded once for all subscribers of its run. A `RunStream` exists while it has subscribers. A subscriber
holds only the last sequence number it sent; events that left the buffer are read from the database.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Sequence
from itertools import islice

import msgspec

from moot.engine import telemetry
from moot.store.database import retry_while_unavailable
from moot.store.runs.event_log import EventLog, RunProgress
from moot.types.errors import DatabaseUnavailable
from moot.types.events import Event
from moot.types.streams import HEARTBEAT, BatchStream

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
