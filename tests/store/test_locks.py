"""One process leads. Another takes over, and a process that lost the lock stops."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from moot.store import locks
from moot.store.database import Database
from moot.store.locks import run_as_leader
from tests.support.databases import open_migrated_database

WAIT_TIMEOUT_SECONDS = 60.0
TERMINATE_LOCK_HOLDERS = """
    SELECT pg_terminate_backend(pid) FROM pg_locks
    WHERE locktype = 'advisory' AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


@pytest.fixture(autouse=True)
def _short_poll_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "POLL_SECONDS", 0.05)


@pytest.fixture
async def postgres(tmp_path: Path) -> AsyncIterator[Database]:
    """A database that several servers share. Servers cannot share a SQLite file."""
    async with open_migrated_database("postgres", tmp_path) as database:
        yield database


class LeaderCandidate:
    """Leads until it loses the lock or the test ends it, and counts how often it started."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.starts = 0
        self.is_leader = False
        self.may_end = asyncio.Event()

    async def lead(self) -> None:
        self.starts += 1
        self.is_leader = True
        try:
            await self.may_end.wait()
        finally:
            self.is_leader = False

    @asynccontextmanager
    async def run_in_background(self) -> AsyncIterator[asyncio.Task[None]]:
        task = asyncio.create_task(run_as_leader(self.database, "discord", self.lead))
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def wait_until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while not condition():
            await asyncio.sleep(0.01)


async def test_leader_task_runs_once_and_its_end_is_returned(database: Database) -> None:
    server = LeaderCandidate(database)
    async with server.run_in_background() as task:
        await wait_until(lambda: server.is_leader)
        server.may_end.set()
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            await task
    assert server.starts == 1


async def test_leader_task_error_is_raised(database: Database) -> None:
    async def broken() -> None:
        raise OSError("no such thing")

    with pytest.raises(OSError, match="no such thing"):
        await run_as_leader(database, "discord", broken)


async def test_second_candidate_waits_and_takes_over(postgres: Database) -> None:
    first, second = LeaderCandidate(postgres), LeaderCandidate(postgres)
    async with first.run_in_background() as task:
        await wait_until(lambda: first.is_leader)
        async with second.run_in_background():
            await asyncio.sleep(0.3)  # it tries several times meanwhile
            assert (first.is_leader, second.starts) == (True, 0)
            task.cancel()
            await wait_until(lambda: second.is_leader)
            assert not first.is_leader


async def test_leader_restarts_task_after_losing_its_connection(postgres: Database) -> None:
    server = LeaderCandidate(postgres)
    async with server.run_in_background():
        await wait_until(lambda: server.is_leader)
        async with postgres.write() as connection:
            await connection.execute(text(TERMINATE_LOCK_HOLDERS))
        await wait_until(lambda: server.starts >= 2)
