"""How often something may happen: a bucket that fills so many times a minute, and holds so many at once.

Counted in the database for all workers together, by its own clock, or in memory for one process.
"""

import time
from collections import OrderedDict
from collections.abc import Callable

from sqlalchemy import TextClause, text

from moot.store.database import Database

MINUTE = 60.0
FORGET_EVERY = 1000
REMEMBERED = 10_000
CLOSE = 0.001  # seconds by which one may be early: clocks are not finer than that

# The generic cell rate algorithm: `free_at` is when all that was taken will have been given back. It may lie
# so far ahead as the bucket is deep; where it lies further, the clock was set back, and the count begins anew.
TAKE = """
INSERT INTO rate (name, free_at) VALUES (:name, {now} + :interval)
ON CONFLICT (name) DO UPDATE SET free_at = :interval + CASE
    WHEN rate.free_at BETWEEN {now} AND {now} + :depth + :interval THEN rate.free_at ELSE {now} END
WHERE rate.free_at NOT BETWEEN {now} + :depth - :interval + :close AND {now} + :depth + :interval
RETURNING free_at
"""
FORGET = "DELETE FROM rate WHERE free_at < {now} - :minute"
POSTGRES_NOW = "extract(epoch FROM statement_timestamp())::float8"
SQLITE_NOW = "((julianday('now') - 2440587.5) * 86400.0)"


class Rates:
    def __init__(self, database: Database) -> None:
        self._database = database
        now = POSTGRES_NOW if database.is_postgres else SQLITE_NOW
        self._take = _statement(TAKE, now)
        self._forget = _statement(FORGET, now)
        self._taken = 0

    async def take(self, name: str, a_minute: int, burst: int | None = None, count: int = 1) -> float | None:
        """Count one, or several; return None if they may happen, or else after how many seconds at most the next one may.

        Without a burst, all of a minute may come at once.
        """
        interval = MINUTE / a_minute
        depth = interval * (burst or a_minute)
        values = {"name": name, "interval": interval * count, "depth": depth, "close": CLOSE}
        async with self._database.write() as connection:
            taken = (await connection.execute(self._take, values)).first()
        await self._sweep()
        return None if taken else interval

    async def _sweep(self) -> None:
        """Forget, now and then, the names that have all their minute free."""
        self._taken += 1
        if self._taken % FORGET_EVERY == 0:
            async with self._database.write() as connection:
                await connection.execute(self._forget, {"minute": MINUTE})


class Recent:
    """The same count in memory and for this process; what was counted least recently is forgotten."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._free_at: OrderedDict[str, float] = OrderedDict()

    def take(self, name: str, a_minute: int) -> float | None:
        interval = MINUTE / a_minute
        now = self._clock()
        free_at = max(now, self._free_at.pop(name, now))
        wait = free_at - (now + MINUTE - interval + CLOSE)
        self._free_at[name] = free_at if wait > 0 else free_at + interval
        if len(self._free_at) > REMEMBERED:
            self._free_at.popitem(last=False)
        return wait if wait > 0 else None


def _statement(sql: str, now: str) -> TextClause:
    return text(sql.format(now=now))
