import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moot.store.database import Database
from moot.store.migrate import migrate
from moot.store.rate_limits import CallLimiter, RateLimiter
from tests.support.databases import DATABASE_KINDS, database_url, open_migrated_database


@pytest.fixture(params=DATABASE_KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with open_migrated_database(request.param, tmp_path) as database:
        yield database


async def test_try_acquire_call_returns_wait_seconds_beyond_calls_per_minute(database: Database) -> None:
    call_limiter = CallLimiter(database, RateLimiter(database), 3)
    waits = await asyncio.gather(*(call_limiter.try_acquire_call() for _ in range(9)))
    assert waits.count(None) == 3
    assert all(0 < wait <= 20 for wait in waits if wait is not None)


async def test_workers_on_one_postgres_share_the_limit(tmp_path: Path) -> None:
    async with database_url("postgres", tmp_path) as url, Database(url) as one, Database(url) as other:
        await migrate(one)
        workers = [CallLimiter(database, RateLimiter(database), 3) for database in (one, other)]
        waits = await asyncio.gather(*(workers[n % 2].try_acquire_call() for n in range(10)))
    assert waits.count(None) == 3


async def test_concurrent_calls_are_reserved_together(tmp_path: Path) -> None:
    async with open_migrated_database("postgres", tmp_path) as database:
        rates = CountingRateLimiter(database)
        call_limiter = CallLimiter(database, rates, 100)
        assert await asyncio.gather(*(call_limiter.try_acquire_call() for _ in range(12))) == [None] * 12
        assert sum(rates.counts) == 12
        assert len(rates.counts) < 12
        assert [await call_limiter.try_acquire_call() for _ in range(2)] == [None, None]


class CountingRateLimiter(RateLimiter):
    """Records how many calls were counted at once."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.counts: list[int] = []

    async def try_acquire(self, name: str, per_minute: int, burst: int | None = None, count: int = 1) -> float | None:
        self.counts.append(count)
        return await super().try_acquire(name, per_minute, burst, count)
