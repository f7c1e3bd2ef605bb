"""Fan-out of the log: each event is turned into bytes once, for all its readers in this process.

A feed is there as long as somebody reads it. A reader holds nothing but a number; what the feed does not remember
any more, the reader finds in the database.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from itertools import islice

import msgspec

from moot.engine import telemetry
from moot.engine.waits import retry_while_unavailable
from moot.store.runs.event_log import EventLog, RunProgress
from moot.types.errors import DatabaseUnavailable
from moot.types.events import Event

MAX_BUFFERED_FRAMES = 1000
POLL_SECONDS = 5.0
RUN_ENDED_PREFIX = '{"type":"run_ended"'
DATA_FIELD = b"\ndata: "

_DECODER = msgspec.json.Decoder(Event)


def decode_frame(frame: bytes) -> Event:
    """Read an event again from what is sent of it."""
    event: Event = _DECODER.decode(frame.partition(DATA_FIELD)[2])
    return event


class RunStream:
    """The newest events of one run, as they are sent, without a gap between them."""

    def __init__(self, run: str, events: EventLog) -> None:
        self.readers = 0
        self._run = run
        self._events = events
        self._frames: deque[bytes] = deque(maxlen=MAX_BUFFERED_FRAMES)
        self._last_seq: int | None = None  # the number of the newest frame; None before there is one
        self._newest_seq = 0  # the highest number that anybody told of
        self.has_local_events = False  # from this process, since the last look
        self._end_seq: int | None = None
        self._live_until_seq = (
            0  # the highest number at which the run was found to go on: no end until there is the last
        )
        self._waiters: list[asyncio.Future[None]] = []
        self._catch_up_lock = asyncio.Lock()

    def add_events(self, first: int, bodies: Sequence[str]) -> None:
        """Take in what follows; where something before it is missing, the database will be asked for all."""
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
        """Hear of a number that is there, whoever wrote it."""
        if seq > self._newest_seq:
            self._newest_seq = seq
            self.wake_readers()

    def wake_readers(self) -> None:
        """Let all readers look."""
        waiting, self._waiters = self._waiters, []
        for reader in waiting:
            if not reader.done():
                reader.set_result(None)

    def new_waiter(self) -> asyncio.Future[None]:
        """Return what a reader waits for that has seen all there is."""
        self._waiters.append(news := asyncio.get_running_loop().create_future())
        return news

    def apply_progress(self, progress: RunProgress) -> None:
        """Hear how the run stands: an end that it had is none where something of it is tried again."""
        self._newest_seq = max(self._newest_seq, progress.last_seq)
        if progress.live:
            self._live_until_seq = max(self._live_until_seq, progress.last_seq)
            if self._end_seq is not None and self._end_seq <= progress.last_seq:
                self._end_seq = None

    def is_over(self, seq: int) -> bool:
        """Tell whether nothing comes after a number: it is an end, and nobody knows of anything after it."""
        return self._end_seq is not None and seq >= self._end_seq >= self._newest_seq

    def buffered_frames(self, seq: int) -> list[bytes]:
        """Return what comes after a number, if it is at hand."""
        behind = 0 if self._last_seq is None else self._last_seq - seq
        return list(islice(reversed(self._frames), behind))[::-1] if 0 < behind <= len(self._frames) else []

    def is_up_to_date(self, seq: int) -> bool:
        """Tell whether there is nothing after a number, as far as is known."""
        return self._last_seq is not None and seq >= self._last_seq >= self._newest_seq

    async def read_stored_frames(self, seq: int) -> list[bytes]:
        """Return some of what comes after a number from the database, or nothing if nothing came yet."""
        if self._last_seq is not None and seq >= self._last_seq:
            await self._catch_up()
            return self.buffered_frames(seq)
        behind = self._last_seq is not None
        rows = await self._events.read_events(self._run, seq)
        if rows:
            self._newest_seq = max(self._newest_seq, rows[-1][0])
        elif self._last_seq is None:  # this reader is up to date: others can go on from here
            self._last_seq = seq
        elif behind:  # there was something, so it has been deleted
            self._end_seq = self._newest_seq = seq
        return [self._encode_frame(number, body) for number, body in rows]

    async def _catch_up(self) -> None:
        """Read what another process wrote, once for all readers here."""
        async with self._catch_up_lock:
            last, known = self._last_seq or 0, self._newest_seq
            if last < known:
                if rows := await self._events.read_events(self._run, last):
                    self.add_events(rows[0][0], [body for _, body in rows])
                elif self._newest_seq == known:  # a rumour, and nothing came since
                    self._newest_seq = self._last_seq or 0

    def _encode_frame(self, seq: int, body: str) -> bytes:
        if body.startswith(RUN_ENDED_PREFIX):
            if seq > self._live_until_seq:
                self._end_seq = max(seq, self._end_seq or 0)
        elif self._end_seq is not None and seq > self._end_seq:  # something of the run is tried again
            self._end_seq = None
        return f"id: {seq}\ndata: {body}\n\n".encode()


class EventHub:
    def __init__(self, events: EventLog) -> None:
        self._events = events
        self._streams: dict[str, RunStream] = {}
        self._gap_event = asyncio.Event()

    def publish(self, run: str, first: int, bodies: Sequence[str]) -> None:
        """Take in what was just written here."""
        if feed := self._streams.get(run):
            feed.add_events(first, bodies)
            feed.has_local_events = True

    def on_notify(self, signal: str) -> None:
        """Hear of what was written elsewhere."""
        for run, newest in self._events.read_signal(signal):
            if feed := self._streams.get(run):
                feed.update_newest_seq(newest)

    def on_gap(self) -> None:
        """Hear that signals may have been lost."""
        self._gap_event.set()

    async def poll_forever(self) -> None:
        """A signal may be lost; no reader waits longer than this for what is there."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self._gap_event.wait()
            self._gap_event.clear()
            await self.poll()

    async def poll(self) -> None:
        """Ask for what may have come from elsewhere; what is fed from here needs no asking. Let all readers wake."""
        silent = [run for run, feed in self._streams.items() if not feed.has_local_events]
        newest: dict[str, int] = {}
        with contextlib.suppress(DatabaseUnavailable):  # the next look will tell
            newest = await self._events.newest_seqs(silent) if silent else {}
        for run, feed in self._streams.items():
            feed.has_local_events = False
            feed.update_newest_seq(newest.get(run, 0))
            feed.wake_readers()

    async def subscribe(
        self, run: str, after: int, progress: RunProgress | None = None
    ) -> AsyncGenerator[list[bytes], None]:
        """Yield what comes after a number until the run has ended; an empty list is: still here.

        `standing` is how the run was found, which may know of more than this process.
        """
        feed = self._streams.setdefault(run, RunStream(run, self._events))
        if progress is not None:
            feed.apply_progress(progress)
        feed.readers += 1
        telemetry.EVENT_READERS.inc()
        try:
            while not feed.is_over(after):
                if not (frames := feed.buffered_frames(after)):
                    if feed.is_up_to_date(after):
                        await feed.new_waiter()
                        frames = feed.buffered_frames(after)
                    elif not (
                        frames := await retry_while_unavailable(
                            lambda: feed.read_stored_frames(after)  # noqa: B023 - called at once
                        )
                    ):
                        continue
                after += len(frames)
                yield frames
        finally:
            telemetry.EVENT_READERS.dec()
            feed.readers -= 1
            if not feed.readers:
                self._streams.pop(run, None)
