"""Fan-out of the log: each event is turned into bytes once, for all its readers in this process.

A feed is there as long as somebody reads it. A reader holds nothing but a number; what the feed does not remember
any more, the reader finds in the database.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from itertools import islice

from moot.engine import metrics
from moot.store.events import Events

REMEMBERED = 1000
LOOK_SECONDS = 5.0
END = '{"type":"run_ended"'


class Feed:
    """The newest events of one run, as they are sent, without a gap between them."""

    def __init__(self, run: str, events: Events) -> None:
        self.readers = 0
        self._run = run
        self._events = events
        self._frames: deque[bytes] = deque(maxlen=REMEMBERED)
        self._last: int | None = None  # the number of the newest frame; None before there is one
        self._known = 0  # the highest number that anybody told of
        self._doubts = self._settled = 0  # how often there may have been more than that, and was asked for
        self.fed = False  # from this process, since the last look
        self._end: int | None = None
        self.news = asyncio.Event()  # set when something came, then replaced
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
        self.news.set()
        self.news = asyncio.Event()

    def look(self) -> None:
        """Let readers ask the database, in case a signal was lost; what is fed from here needs none."""
        self._doubts += not self.fed
        self.fed = False
        self.wake()

    def is_over(self, seq: int) -> bool:
        return self._end is not None and seq >= self._end

    async def after(self, seq: int) -> list[bytes]:
        """Return some of what comes after a number, or nothing if nothing came yet."""
        if self._last is not None and seq >= self._last:
            await self._catch_up()
        if self._last is None or not self._last - len(self._frames) <= seq <= self._last:
            return await self._from_database(seq)
        behind = self._last - seq
        return list(islice(reversed(self._frames), behind))[::-1]

    async def _from_database(self, seq: int) -> list[bytes]:
        rows = await self._events.read(self._run, seq)
        if rows:
            self._known = max(self._known, rows[-1][0])
        elif self._last is None:  # this reader is up to date: others can go on from here
            self._last = seq
        return [self._framed(number, body) for number, body in rows]

    async def _catch_up(self) -> None:
        """Read what another process wrote, once for all readers here."""
        async with self._catching_up:
            last, doubts = self._last or 0, self._doubts
            if last < self._known or self._settled < doubts:
                rows = await self._events.read(self._run, last)
                self._settled = doubts
                if rows:
                    self.add(rows[0][0], [body for _, body in rows])

    def _framed(self, seq: int, body: str) -> bytes:
        if body.startswith(END):
            self._end = seq
        return f"id: {seq}\ndata: {body}\n\n".encode()


class Feeds:
    def __init__(self, events: Events) -> None:
        self._events = events
        self._feeds: dict[str, Feed] = {}

    def publish(self, run: str, first: int, bodies: Sequence[str]) -> None:
        """Take in what was just written here."""
        if feed := self._feeds.get(run):
            feed.add(first, bodies)
            feed.fed = True

    def told(self, payload: str) -> None:
        """Hear of what was written elsewhere: `run:number`, separated by commas."""
        for run, _, known in (told.partition(":") for told in payload.split(",")):
            if feed := self._feeds.get(run):
                feed.hear_of(int(known))

    def look(self) -> None:
        for feed in self._feeds.values():
            feed.look()

    async def look_now_and_then(self) -> None:
        """A signal may be lost; no reader waits longer than this for what is there."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self.look()

    async def follow(self, run: str, after: int) -> AsyncGenerator[list[bytes], None]:
        """Yield what comes after a number until the run has ended; an empty list is: still here."""
        feed = self._feeds.setdefault(run, Feed(run, self._events))
        feed.readers += 1
        metrics.READERS.inc()
        try:
            while not feed.is_over(after):
                news = feed.news  # of what comes while we look is told too
                if frames := await feed.after(after):
                    after += len(frames)
                else:
                    await news.wait()
                yield frames
        finally:
            metrics.READERS.dec()
            feed.readers -= 1
            if not feed.readers:
                self._feeds.pop(run, None)
