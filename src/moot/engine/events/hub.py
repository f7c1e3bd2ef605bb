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
from moot.engine.waits import patiently
from moot.store.runs.event_log import Events, Standing
from moot.types.errors import StoreUnavailable
from moot.types.events import Event

REMEMBERED = 1000
LOOK_SECONDS = 5.0
END = '{"type":"run_ended"'
DATA = b"\ndata: "

_DECODER = msgspec.json.Decoder(Event)


def event_of(frame: bytes) -> Event:
    """Read an event again from what is sent of it."""
    event: Event = _DECODER.decode(frame.partition(DATA)[2])
    return event


class Feed:
    """The newest events of one run, as they are sent, without a gap between them."""

    def __init__(self, run: str, events: Events) -> None:
        self.readers = 0
        self._run = run
        self._events = events
        self._frames: deque[bytes] = deque(maxlen=REMEMBERED)
        self._last: int | None = None  # the number of the newest frame; None before there is one
        self._known = 0  # the highest number that anybody told of
        self.fed = False  # from this process, since the last look
        self._end: int | None = None
        self._went_on = (
            0  # the highest number at which the run was found to go on: no end until there is the last
        )
        self._waiting: list[asyncio.Future[None]] = []
        self._catching_up = asyncio.Lock()

    def add(self, first: int, bodies: Sequence[str]) -> None:
        """Take in what follows; where something before it is missing, the database will be asked for all."""
        self._known = max(self._known, first + len(bodies) - 1)
        if self._last is None:
            self._last = first - 1
        if first <= self._last + 1:
            for seq, body in enumerate(bodies, first):
                if seq > self._last:
                    self._frames.append(self._framed(seq, body))
                    self._last = seq
        self.wake()

    def hear_of(self, known: int) -> None:
        """Hear of a number that is there, whoever wrote it."""
        if known > self._known:
            self._known = known
            self.wake()

    def wake(self) -> None:
        """Let all readers look."""
        waiting, self._waiting = self._waiting, []
        for reader in waiting:
            if not reader.done():
                reader.set_result(None)

    def news(self) -> asyncio.Future[None]:
        """Return what a reader waits for that has seen all there is."""
        self._waiting.append(news := asyncio.get_running_loop().create_future())
        return news

    def goes_on(self, standing: Standing) -> None:
        """Hear how the run stands: an end that it had is none where something of it is tried again."""
        self._known = max(self._known, standing.newest)
        if standing.live:
            self._went_on = max(self._went_on, standing.newest)
            if self._end is not None and self._end <= standing.newest:
                self._end = None

    def is_over(self, seq: int) -> bool:
        """Tell whether nothing comes after a number: it is an end, and nobody knows of anything after it."""
        return self._end is not None and seq >= self._end >= self._known

    def remembered(self, seq: int) -> list[bytes]:
        """Return what comes after a number, if it is at hand."""
        behind = 0 if self._last is None else self._last - seq
        return list(islice(reversed(self._frames), behind))[::-1] if 0 < behind <= len(self._frames) else []

    def has_all(self, seq: int) -> bool:
        """Tell whether there is nothing after a number, as far as is known."""
        return self._last is not None and seq >= self._last >= self._known

    async def read(self, seq: int) -> list[bytes]:
        """Return some of what comes after a number from the database, or nothing if nothing came yet."""
        if self._last is not None and seq >= self._last:
            await self._catch_up()
            return self.remembered(seq)
        behind = self._last is not None
        rows = await self._events.read(self._run, seq)
        if rows:
            self._known = max(self._known, rows[-1][0])
        elif self._last is None:  # this reader is up to date: others can go on from here
            self._last = seq
        elif behind:  # there was something, so it has been deleted
            self._end = self._known = seq
        return [self._framed(number, body) for number, body in rows]

    async def _catch_up(self) -> None:
        """Read what another process wrote, once for all readers here."""
        async with self._catching_up:
            last, known = self._last or 0, self._known
            if last < known:
                if rows := await self._events.read(self._run, last):
                    self.add(rows[0][0], [body for _, body in rows])
                elif self._known == known:  # a rumour, and nothing came since
                    self._known = self._last or 0

    def _framed(self, seq: int, body: str) -> bytes:
        if body.startswith(END):
            if seq > self._went_on:
                self._end = max(seq, self._end or 0)
        elif self._end is not None and seq > self._end:  # something of the run is tried again
            self._end = None
        return f"id: {seq}\ndata: {body}\n\n".encode()


class Feeds:
    def __init__(self, events: Events) -> None:
        self._events = events
        self._feeds: dict[str, Feed] = {}
        self._doubt = asyncio.Event()

    def publish(self, run: str, first: int, bodies: Sequence[str]) -> None:
        """Take in what was just written here."""
        if feed := self._feeds.get(run):
            feed.add(first, bodies)
            feed.fed = True

    def told(self, signal: str) -> None:
        """Hear of what was written elsewhere."""
        for run, newest in self._events.told(signal):
            if feed := self._feeds.get(run):
                feed.hear_of(newest)

    def missed(self) -> None:
        """Hear that signals may have been lost."""
        self._doubt.set()

    async def look_for_ever(self) -> None:
        """A signal may be lost; no reader waits longer than this for what is there."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._doubt.wait()
            self._doubt.clear()
            await self.look()

    async def look(self) -> None:
        """Ask for what may have come from elsewhere; what is fed from here needs no asking. Let all readers wake."""
        silent = [run for run, feed in self._feeds.items() if not feed.fed]
        newest: dict[str, int] = {}
        with contextlib.suppress(StoreUnavailable):  # the next look will tell
            newest = await self._events.newest(silent) if silent else {}
        for run, feed in self._feeds.items():
            feed.fed = False
            feed.hear_of(newest.get(run, 0))
            feed.wake()

    async def follow(
        self, run: str, after: int, standing: Standing | None = None
    ) -> AsyncGenerator[list[bytes], None]:
        """Yield what comes after a number until the run has ended; an empty list is: still here.

        `standing` is how the run was found, which may know of more than this process.
        """
        feed = self._feeds.setdefault(run, Feed(run, self._events))
        if standing is not None:
            feed.goes_on(standing)
        feed.readers += 1
        telemetry.READERS.inc()
        try:
            while not feed.is_over(after):
                if not (frames := feed.remembered(after)):
                    if feed.has_all(after):
                        await feed.news()
                        frames = feed.remembered(after)
                    elif not (frames := await patiently(lambda: feed.read(after))):  # noqa: B023 - at once
                        continue
                after += len(frames)
                yield frames
        finally:
            telemetry.READERS.dec()
            feed.readers -= 1
            if not feed.readers:
                self._feeds.pop(run, None)
