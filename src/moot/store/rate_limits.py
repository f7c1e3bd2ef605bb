"""How often something may happen: a bucket that fills so many times a minute, and holds so many at once.

Counted in the database for all workers together, by its own clock, or in memory for one process.
"""

import time
from collections import OrderedDict
from collections.abc import Callable

from sqlalchemy import TextClause, text

from moot.store.database import Database

MINUTE = 60.0
PURGE_EVERY = 1000
MAX_NAMES = 10_000
CLOCK_TOLERANCE_SECONDS = 0.001  # seconds by which one may be early: clocks are not finer than that

# The generic cell rate algorithm: `free_at` is when all that was taken will have been given back. It may lie
# so far ahead as the bucket is deep; where it lies further, the clock was set back, and the count begins anew.
ACQUIRE_SQL = """
INSERT INTO rate (name, free_at) VALUES (:name, {now} + :interval)
ON CONFLICT (name) DO UPDATE SET free_at = :interval + CASE
    WHEN rate.free_at BETWEEN {now} AND {now} + :depth + :interval THEN rate.free_at ELSE {now} END
WHERE rate.free_at NOT BETWEEN {now} + :depth - :interval + :close AND {now} + :depth + :interval
RETURNING free_at
"""
PURGE_SQL = "DELETE FROM rate WHERE free_at < {now} - :minute"
POSTGRES_NOW = "extract(epoch FROM statement_timestamp())::float8"
SQLITE_NOW = "((julianday('now') - 2440587.5) * 86400.0)"


class RateLimiter:
    def __init__(self, database: Database) -> None:
        self._database = database
        now = POSTGRES_NOW if database.is_postgres else SQLITE_NOW
        self._acquire_statement = _build_statement(ACQUIRE_SQL, now)
        self._purge_statement = _build_statement(PURGE_SQL, now)
        self._acquire_count = 0

    async def try_acquire(
        self, name: str, per_minute: int, burst: int | None = None, count: int = 1
    ) -> float | None:
        """Count one, or several; return None if they may happen, or else after how many seconds at most the next one may.

        Without a burst, all of a minute may come at once.
        """
        interval = MINUTE / per_minute
        depth = interval * (burst or per_minute)
        values = {
            "name": name,
            "interval": interval * count,
            "depth": depth,
            "close": CLOCK_TOLERANCE_SECONDS,
        }
        async with self._database.write() as connection:
            taken = (await connection.execute(self._acquire_statement, values)).first()
        await self._purge_idle_names()
        return None if taken else interval

    async def _purge_idle_names(self) -> None:
        """Forget, now and then, the names that have all their minute free."""
        self._acquire_count += 1
        if self._acquire_count % PURGE_EVERY == 0:
            async with self._database.write() as connection:
                await connection.execute(self._purge_statement, {"minute": MINUTE})


class MemoryRateLimiter:
    """The same count in memory and for this process; what was counted least recently is forgotten."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._free_at: OrderedDict[str, float] = OrderedDict()

    def try_acquire(self, name: str, per_minute: int) -> float | None:
        interval = MINUTE / per_minute
        now = self._clock()
        free_at = max(now, self._free_at.pop(name, now))
        wait = free_at - (now + MINUTE - interval + CLOCK_TOLERANCE_SECONDS)
        self._free_at[name] = free_at if wait > 0 else free_at + interval
        if len(self._free_at) > MAX_NAMES:
            self._free_at.popitem(last=False)
        return wait if wait > 0 else None


def _build_statement(sql: str, now: str) -> TextClause:
    return text(sql.format(now=now))
