"""Who may call a model now: so many calls a minute, of all accounts together and over all workers."""

import asyncio
from functools import partial

from moot.engine.waits import patiently
from moot.store.database import Database
from moot.store.rate_limits import Rates, Recent

NAME = "model_calls"


class Admission:
    def __init__(self, database: Database, rates: Rates, a_minute: int) -> None:
        self._alone = not database.is_postgres
        self._rates = rates
        self._recent = Recent()
        self._a_minute = a_minute
        self._asking = 0
        self._granted = 0
        self._turn = asyncio.Lock()

    async def wait(self) -> float | None:
        """Count a call; return None if it may be made, or else after how many seconds to ask again.

        A file has one worker: it counts in memory, and no call waits for the disk. On Postgres those who ask at the
        same time are counted together.
        """
        if self._alone:
            return self._recent.take(NAME, self._a_minute)
        self._asking += 1
        try:
            async with self._turn:
                if not self._granted and (seconds := await self._ask_for_all()) is not None:
                    return seconds
                self._granted -= 1
                return None
        finally:
            self._asking -= 1

    async def _ask_for_all(self) -> float | None:
        """Count all who wait here or, where that is too much, one."""
        for count in sorted({1, self._asking}, reverse=True):
            seconds = await patiently(partial(self._rates.take, NAME, self._a_minute, count=count))
            if seconds is None:
                self._granted = count
                return None
        return seconds
