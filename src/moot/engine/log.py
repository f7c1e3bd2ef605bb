"""The log of a run that lives only as long as its process: numbered without gaps, read by one reader."""

import time
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from moot.model.events import Event
from moot.model.ids import new_id

Reader = Callable[[list[Event]], Awaitable[None] | None]  # one that says when it has read is waited for


class RunLog:
    def __init__(self, reader: Reader) -> None:
        self.run = new_id("run")
        self._reader = reader
        self._seq = 0

    async def append(self, events: list[Event]) -> None:
        """Stamp events with the run, their number and the time, and hand them to the reader."""
        now = time.time()
        stamped: list[Event] = []
        for event in events:
            self._seq += 1
            stamped.append(replace(event, run=self.run, seq=self._seq, at=now))
        if (reading := self._reader(stamped)) is not None:
            await reading
