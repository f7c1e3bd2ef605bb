import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from moot.store import notify as module
from moot.store.database import Database
from tests.databases import migrated
from tests.store.hearing import eventually, hearing, listening

TROUBLES = (
    ConnectionRefusedError,
    TimeoutError,
    asyncpg.CannotConnectNowError,
    asyncpg.InterfaceError("the connection is closed"),
    asyncpg.InternalClientError("got a result for an unknown state"),
)


@pytest.fixture
async def postgres(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Database]:
    monkeypatch.setattr(module, "RECONNECT_SECONDS", 0.01)
    async with migrated("postgres", tmp_path) as database:
        yield database


async def tell(database: Database, payload: str) -> None:
    async with database.write() as connection:
        await database.notify(connection, "moot_control", payload)


async def test_what_one_process_tells_others_hear_and_it_does_itself(postgres: Database) -> None:
    async with (
        Database(postgres.url) as other,
        hearing(other, "moot_control") as there,
        hearing(postgres, "moot_control") as here,
    ):
        await tell(other, "run_1")
        await tell(postgres, "run_2")
        await eventually(lambda: here == there == ["run_1", "run_2"])


async def test_every_topic_is_heard_and_only_after_the_end_of_its_transaction(postgres: Database) -> None:
    async with hearing(postgres, "moot_changes") as changes, hearing(postgres, "moot_events") as events:
        with pytest.raises(ZeroDivisionError):
            async with postgres.write() as connection:
                await postgres.notify(connection, "moot_changes", "never")
                raise ZeroDivisionError
        async with postgres.write() as connection:
            await postgres.notify(connection, "moot_changes", "a change")
            await postgres.notify(connection, "moot_events", "an event")
        await eventually(lambda: bool(changes and events))
    assert set(changes) == {"a change"}
    assert set(events) == {"an event"}


async def test_29_a_connection_that_breaks_is_made_again_and_that_is_told(postgres: Database) -> None:
    missed: list[int] = []
    heard: list[str] = []
    postgres.subscribe("moot_control", heard.append)
    async with listening(postgres, lambda: missed.append(1)):
        for times in (2, 3):
            other = await asyncpg.connect(postgres.url)
            await other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND (query LIKE 'LISTEN%' OR query = 'SELECT 1')"
            )
            await other.close()
            await eventually(lambda: len(missed) == times)  # noqa: B023 - it is over before the next turn
        await tell(postgres, "run_1")
        await eventually(lambda: heard == ["run_1"])


async def test_it_goes_on_trying_while_there_is_no_database(
    postgres: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []
    connect = asyncpg.connect

    async def refuse(*args: object, **options: object) -> object:
        tries.append(1)
        if len(tries) <= len(TROUBLES):
            raise TROUBLES[len(tries) - 1]
        return await connect(*args, **options)

    monkeypatch.setattr(asyncpg, "connect", refuse)
    async with hearing(postgres, "moot_control") as heard:
        assert len(tries) == len(TROUBLES) + 1
        await tell(postgres, "run_1")
        await eventually(lambda: heard == ["run_1"])


async def test_it_ends_when_it_is_told_to_and_leaves_no_connection(postgres: Database) -> None:
    other = await asyncpg.connect(postgres.url)
    for _ in range(3):
        task = asyncio.create_task(module.receive_notifications(postgres, lambda: None))
        await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    async with listening(postgres):
        pass
    left = 1
    while left:
        left = await other.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
        )
    await other.close()
