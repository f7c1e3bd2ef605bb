"""Rate limit for model calls per minute, shared by all accounts and all workers."""

import asyncio

from moot.store.database import Database, retry_while_unavailable
from moot.store.rate_limits import MemoryRateLimiter, RateLimiter

LIMIT_NAME = "model_calls"


class CallLimiter:
    """Counts in memory on SQLite, which has one worker, so no call waits for the disk.

    On Postgres the count is a row that all workers share. Concurrent calls are counted in one query.
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
            return self._recent_calls.try_acquire(LIMIT_NAME, self._calls_per_minute)
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
            seconds = await self._try_acquire(LIMIT_NAME, self._calls_per_minute, count=count)
            if seconds is None:
                self._reserved_calls = count
                return None
        return seconds
