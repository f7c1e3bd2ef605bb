"""Rate limits by token bucket: requests per minute, with a burst.

`RateLimiter` counts in the database for all workers, by the clock of the database. `MemoryRateLimiter` counts in memory.
`CallLimiter` uses the one or the other for model calls.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable

from sqlalchemy import TextClause, text

from moot.store.database import Database, retry_while_unavailable

MINUTE = 60.0
PURGE_EVERY = 1000
MAX_NAMES = 10_000
CALL_LIMIT_NAME = "model_calls"
CLOCK_TOLERANCE_SECONDS = 0.001  # a request may be this early, because clocks are not more precise

# Generic cell rate algorithm: `free_at` is the time when the bucket is full again, at most `depth` ahead. A later value
# means that the clock was set back. The count restarts then, so that no client is blocked.
ACQUIRE_SQL = """
INSERT INTO rate_limit (name, free_at) VALUES (:name, {now} + :interval)
ON CONFLICT (name) DO UPDATE SET free_at = :interval + CASE
    WHEN rate_limit.free_at BETWEEN {now} AND {now} + :depth + :interval THEN rate_limit.free_at ELSE {now} END
WHERE rate_limit.free_at NOT BETWEEN {now} + :depth - :interval + :close AND {now} + :depth + :interval
RETURNING free_at
"""
PURGE_SQL = "DELETE FROM rate_limit WHERE free_at < {now} - :minute"
POSTGRES_NOW = "extract(epoch FROM statement_timestamp())::float8"
SQLITE_NOW = "((julianday('now') - 2440587.5) * 86400.0)"


class RateLimiter:
    """Limits shared by all workers of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        now = POSTGRES_NOW if database.is_postgres else SQLITE_NOW
        self._acquire_statement = _build_statement(ACQUIRE_SQL, now)
        self._purge_statement = _build_statement(PURGE_SQL, now)
        self._acquire_count = 0

    async def try_acquire(self, name: str, per_minute: int, burst: int | None = None, count: int = 1) -> float | None:
        """Return None if `count` requests are allowed, else the seconds until the next one is, at most.

        `burst` is the number of requests allowed at once. By default it is `per_minute`.
        """
        interval = MINUTE / per_minute
        depth = interval * (burst or per_minute)
        values = {"name": name, "interval": interval * count, "depth": depth, "close": CLOCK_TOLERANCE_SECONDS}
        async with self._database.write() as connection:
            taken = (await connection.execute(self._acquire_statement, values)).first()
        await self._purge_idle_names()
        return None if taken else interval

    async def _purge_idle_names(self) -> None:
        """Delete rows of full buckets, once per PURGE_EVERY calls."""
        self._acquire_count += 1
        if self._acquire_count % PURGE_EVERY == 0:
            await self._database.execute(self._purge_statement, {"minute": MINUTE})


class MemoryRateLimiter:
    """The same limit for one process. Keeps MAX_NAMES names and drops the least recently used."""

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


class CallLimiter:
    """Limits model calls per minute, for all accounts and all workers together.

    It counts in memory on SQLite, which has one worker, so no call waits for the disk. On Postgres the count is a row
    that all workers share. Concurrent calls are counted in one query.
    """

    def __init__(self, database: Database, rates: RateLimiter, calls_per_minute: int) -> None:
        self._is_single_worker = not database.is_postgres
        self._try_acquire = retry_while_unavailable(rates.try_acquire)
        self._recent_calls = MemoryRateLimiter()
        self._calls_per_minute = calls_per_minute
        self._waiting_calls = 0
        self._reserved_calls = 0
        self._reserve_lock = asyncio.Lock()

    async def try_acquire_call(self) -> float | None:
        """Return None if the call is allowed, or the seconds to wait before the next try."""
        if self._is_single_worker:
            return self._recent_calls.try_acquire(CALL_LIMIT_NAME, self._calls_per_minute)
        self._waiting_calls += 1
        try:
            async with self._reserve_lock:
                if not self._reserved_calls and (seconds := await self._reserve_for_waiting()) is not None:
                    return seconds
                self._reserved_calls -= 1
                return None
        finally:
            self._waiting_calls -= 1

    async def _reserve_for_waiting(self) -> float | None:
        """Reserve a call for every waiting task, or one if the limit does not allow that many."""
        for count in sorted({1, self._waiting_calls}, reverse=True):
            seconds = await self._try_acquire(CALL_LIMIT_NAME, self._calls_per_minute, count=count)
            if seconds is None:
                self._reserved_calls = count
                return None
        return seconds


def _build_statement(sql: str, now: str) -> TextClause:
    return text(sql.format(now=now))
