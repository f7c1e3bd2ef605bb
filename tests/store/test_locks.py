"""One of several does it, another takes over, and nobody goes on who has lost hold of it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from moot.store import locks
from moot.store.database import Database
from moot.store.locks import run_as_leader
from tests.databases import migrated

TAKES_SECONDS = 60.0
HELD = """
    SELECT pg_terminate_backend(pid) FROM pg_locks
    WHERE locktype = 'advisory' AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


@pytest.fixture(autouse=True)
def _looking_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "POLL_SECONDS", 0.05)


@pytest.fixture
async def postgres(tmp_path: Path) -> AsyncIterator[Database]:
    """A database that several servers share, as nobody shares a file of SQLite."""
    async with migrated("postgres", tmp_path) as database:
        yield database


class Server:
    """Somebody who does it for as long as it lasts, and counts."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.begun = 0
        self.is_at_it = False
        self.may_end = asyncio.Event()

    async def work(self) -> None:
        self.begun += 1
        self.is_at_it = True
        try:
            await self.may_end.wait()
        finally:
            self.is_at_it = False

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        task = asyncio.create_task(run_as_leader(self.database, "discord", self.work))
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(TAKES_SECONDS):
        while not true():
            await asyncio.sleep(0.01)


async def test_the_work_is_done_once_and_its_end_is_the_end(database: Database) -> None:
    server = Server(database)
    async with server.running() as task:
        await until(lambda: server.is_at_it)
        server.may_end.set()
        async with asyncio.timeout(TAKES_SECONDS):
            await task
    assert server.begun == 1


async def test_what_goes_wrong_in_it_is_told(database: Database) -> None:
    async def broken() -> None:
        raise OSError("no such thing")

    with pytest.raises(OSError, match="no such thing"):
        await run_as_leader(database, "discord", broken)


async def test_another_one_waits_and_takes_over(postgres: Database) -> None:
    first, second = Server(postgres), Server(postgres)
    async with first.running() as task:
        await until(lambda: first.is_at_it)
        async with second.running():
            await asyncio.sleep(0.3)  # in which it looks several times
            assert (first.is_at_it, second.begun) == (True, 0)
            task.cancel()
            await until(lambda: second.is_at_it)
            assert not first.is_at_it


async def test_whoever_loses_hold_of_it_ends_and_begins_anew_when_it_is_free(postgres: Database) -> None:
    server = Server(postgres)
    async with server.running():
        await until(lambda: server.is_at_it)
        async with postgres.write() as connection:
            await connection.execute(text(HELD))
        await until(lambda: server.begun >= 2)
