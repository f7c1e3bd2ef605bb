from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moot.store.database import Database
from moot.store.runs.workers import WorkerRegistry, WorkerState, lock_worker
from moot.types.errors import ShuttingDown
from tests.support.databases import open_migrated_database


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with open_migrated_database("postgres", tmp_path) as database:
        yield database


async def test_worker_sends_heartbeats_until_takeover(database: Database) -> None:
    roll = WorkerRegistry(database)
    await roll.register("one")
    assert await roll.send_heartbeat("one")
    assert await roll.worker_states() == {"one": WorkerState(1, None)}
    assert await roll.begin_takeover("one", WorkerState(1, None), "other")
    assert not await roll.send_heartbeat("one")
    await roll.deregister("one")
    assert await roll.worker_states() == {}
    assert not await roll.send_heartbeat("one")


async def test_begin_takeover_succeeds_once_and_only_without_heartbeat(database: Database) -> None:
    roll = WorkerRegistry(database)
    await roll.register("one")
    seen = (await roll.worker_states())["one"]
    await roll.send_heartbeat("one")
    assert not await roll.begin_takeover("one", seen, "other")
    seen = (await roll.worker_states())["one"]
    assert [await roll.begin_takeover("one", seen, name) for name in ("other", "third")] == [True, False]
    assert await roll.worker_states() == {"one": WorkerState(1, "other")}


async def test_worker_that_left_and_unknown_worker_are_registered_alike(database: Database) -> None:
    roll = WorkerRegistry(database)
    await roll.register("one")
    await roll.mark_as_left("one")
    await roll.register_as_left("stranger")
    assert await roll.worker_states() == {
        "one": WorkerState(0, "one"),
        "stranger": WorkerState(0, "stranger"),
    }


async def test_lock_worker_rejects_worker_being_taken_over(database: Database) -> None:
    roll = WorkerRegistry(database)
    await roll.register("one")
    async with database.write() as connection:
        await lock_worker(connection, "one")
    await roll.mark_as_left("one")
    for name in ("one", "nobody"):
        async with database.write() as connection:
            with pytest.raises(ShuttingDown):
                await lock_worker(connection, name)
