from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moot.store.database import Database
from moot.store.runs.runs import WorkerRegistry, WorkerState, lock_worker
from moot.types.errors import ShuttingDown
from tests.support.databases import open_migrated_database


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with open_migrated_database("postgres", tmp_path) as database:
        yield database


async def test_worker_sends_heartbeats_until_takeover(database: Database) -> None:
    registry = WorkerRegistry(database)
    await registry.register("one")
    assert await registry.send_heartbeat("one")
    assert await registry.worker_states() == {"one": WorkerState(1, None)}
    assert await registry.begin_takeover("one", WorkerState(1, None), "other")
    assert not await registry.send_heartbeat("one")
    await registry.deregister("one")
    assert await registry.worker_states() == {}
    assert not await registry.send_heartbeat("one")


async def test_begin_takeover_succeeds_once_and_only_without_heartbeat(database: Database) -> None:
    registry = WorkerRegistry(database)
    await registry.register("one")
    seen = (await registry.worker_states())["one"]
    await registry.send_heartbeat("one")
    assert not await registry.begin_takeover("one", seen, "other")
    seen = (await registry.worker_states())["one"]
    assert [await registry.begin_takeover("one", seen, name) for name in ("other", "third")] == [True, False]
    assert await registry.worker_states() == {"one": WorkerState(1, "other")}


async def test_worker_that_left_and_unknown_worker_are_registered_alike(database: Database) -> None:
    registry = WorkerRegistry(database)
    await registry.register("one")
    await registry.mark_as_left("one")
    await registry.register_as_left("stranger")
    assert await registry.worker_states() == {
        "one": WorkerState(0, "one"),
        "stranger": WorkerState(0, "stranger"),
    }


async def test_lock_worker_rejects_worker_being_taken_over(database: Database) -> None:
    registry = WorkerRegistry(database)
    await registry.register("one")
    async with database.write() as connection:
        await lock_worker(connection, "one")
    await registry.mark_as_left("one")
    for name in ("one", "nobody"):
        async with database.write() as connection:
            with pytest.raises(ShuttingDown):
                await lock_worker(connection, name)
