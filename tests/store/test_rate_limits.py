import asyncio
from pathlib import Path

import pytest
from sqlalchemy import func, select, update

from moot.store import rate_limits
from moot.store.database import Database
from moot.store.migrate import migrate
from moot.store.rate_limits import MemoryRateLimiter, RateLimiter
from moot.store.schema.server import rate_limit
from tests.support.databases import DATABASE_KINDS, DatabaseKind, database_url


async def advance_time(database: Database, seconds: float) -> None:
    """Move the stored times of rate limits into the past."""
    async with database.write() as connection:
        await connection.execute(update(rate_limit).values(free_at=rate_limit.c.free_at - seconds))


async def test_rate_limiter_allows_burst_and_then_a_steady_rate(database: Database) -> None:
    counted = RateLimiter(database)
    assert [await counted.try_acquire("ada", 3) for _ in range(5)] == [None, None, None, 20.0, 20.0]
    await advance_time(database, 21)
    assert [await counted.try_acquire("ada", 3) for _ in range(2)] == [None, 20.0]
    await advance_time(database, 3600)
    assert [await counted.try_acquire("ada", 3) for _ in range(4)] == [None, None, None, 20.0]


async def test_names_are_limited_separately(database: Database) -> None:
    counted = RateLimiter(database)
    assert [await counted.try_acquire(name, 1) for name in ("ada", "bob", "ada")] == [None, None, 60.0]


async def test_clock_set_back_does_not_block_requests(database: Database) -> None:
    counted = RateLimiter(database)
    for _ in range(3):
        await counted.try_acquire("ada", 3)
    await advance_time(database, -3600)
    assert [await counted.try_acquire("ada", 3) for _ in range(4)] == [None, None, None, 20.0]


@pytest.mark.parametrize("kind", DATABASE_KINDS)
async def test_workers_share_one_rate_limit(kind: DatabaseKind, tmp_path: Path) -> None:
    async with database_url(kind, tmp_path) as url, Database(url) as one, Database(url) as other:
        await migrate(one)
        workers = (RateLimiter(one), RateLimiter(other))
        taken = await asyncio.gather(*(workers[n % 2].try_acquire("ada", 5) for n in range(40)))
    assert taken.count(None) == 5


async def test_idle_names_are_purged(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "PURGE_EVERY", 10)
    counted = RateLimiter(database)
    for n in range(8):
        await counted.try_acquire(f"name {n}", 600)
    await advance_time(database, 120)
    await counted.try_acquire("ada", 600)
    await counted.try_acquire("ada", 600)
    async with database.read() as connection:
        assert (await connection.execute(select(func.count()).select_from(rate_limit))).scalar() == 1


async def test_burst_parameter_limits_simultaneous_requests(database: Database) -> None:
    counted = RateLimiter(database)
    assert [await counted.try_acquire("ada", 10, 3) for _ in range(5)] == [None, None, None, 6.0, 6.0]
    await advance_time(database, 6.1)
    assert [await counted.try_acquire("ada", 10, 3) for _ in range(2)] == [None, 6.0]
    await advance_time(database, 3600)
    assert [await counted.try_acquire("ada", 10, 3) for _ in range(4)] == [None, None, None, 6.0]


async def test_burst_of_one_allows_one_request_at_a_time(database: Database) -> None:
    counted = RateLimiter(database)
    assert [await counted.try_acquire("ada", 5, 1) for _ in range(3)] == [None, 12.0, 12.0]
    await advance_time(database, -3600)
    assert [await counted.try_acquire("ada", 5, 1) for _ in range(2)] == [None, 12.0], "the clock was set back"


class FakeClock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_memory_rate_limiter_counts_like_the_database() -> None:
    clock = FakeClock()
    recent = MemoryRateLimiter(clock)
    assert [recent.try_acquire("ada", 3) is None for _ in range(5)] == [True, True, True, False, False]
    assert recent.try_acquire("ada", 3) == pytest.approx(20, abs=0.01)
    clock.now += 20
    assert [recent.try_acquire("ada", 3) is None for _ in range(2)] == [True, False]
    assert recent.try_acquire("bob", 3) is None
    clock.now += 3600
    assert [recent.try_acquire("ada", 3) is None for _ in range(4)] == [True, True, True, False]


def test_memory_rate_limiter_is_bounded_and_keeps_active_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "MAX_NAMES", 3)
    recent = MemoryRateLimiter(FakeClock())
    assert recent.try_acquire("ada", 1) is None
    for n in range(50):
        recent.try_acquire(f"visitor {n}", 1)
        assert recent.try_acquire("ada", 1) is not None
    assert len(recent._free_at) == 3
