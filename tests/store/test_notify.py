import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from moot.store import notify as module
from moot.store.database import Database
from tests.support.databases import open_migrated_database
from tests.support.waiting import collect_notifications, listen_for_notifications, wait_until

CONNECTION_ERRORS = (
    ConnectionRefusedError,
    TimeoutError,
    asyncpg.CannotConnectNowError,
    asyncpg.InterfaceError("the connection is closed"),
    asyncpg.InternalClientError("got a result for an unknown state"),
)


@pytest.fixture
async def postgres(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Database]:
    monkeypatch.setattr(module, "RECONNECT_SECONDS", 0.01)
    async with open_migrated_database("postgres", tmp_path) as database:
        yield database


async def send_notification(database: Database, payload: str) -> None:
    async with database.write() as connection:
        await database.notify(connection, "moot_control", payload)


async def test_notifications_reach_all_processes_including_sender(postgres: Database) -> None:
    async with (
        Database(postgres.url) as other,
        collect_notifications(other, "moot_control") as received_by_other,
        collect_notifications(postgres, "moot_control") as received,
    ):
        await send_notification(other, "run_1")
        await send_notification(postgres, "run_2")
        await wait_until(lambda: received == received_by_other == ["run_1", "run_2"])


async def test_notifications_of_every_topic_arrive_only_after_commit(postgres: Database) -> None:
    async with (
        collect_notifications(postgres, "moot_changes") as changes,
        collect_notifications(postgres, "moot_events") as events,
    ):
        with pytest.raises(ZeroDivisionError):
            async with postgres.write() as connection:
                await postgres.notify(connection, "moot_changes", "never")
                raise ZeroDivisionError
        async with postgres.write() as connection:
            await postgres.notify(connection, "moot_changes", "a change")
            await postgres.notify(connection, "moot_events", "an event")
        await wait_until(lambda: bool(changes and events))
    assert set(changes) == {"a change"}
    assert set(events) == {"an event"}


async def test_listener_reconnects_after_lost_connection_and_reports_gap(postgres: Database) -> None:
    missed: list[int] = []
    notifications: list[str] = []
    postgres.subscribe("moot_control", notifications.append)
    async with listen_for_notifications(postgres, lambda: missed.append(1)):
        for times in (2, 3):
            other = await asyncpg.connect(postgres.url)
            await other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND (query LIKE 'LISTEN%' OR query = 'SELECT 1')"
            )
            await other.close()
            await wait_until(lambda: len(missed) == times)  # noqa: B023 - it is over before the next turn
        await send_notification(postgres, "run_1")
        await wait_until(lambda: notifications == ["run_1"])


async def test_listener_retries_while_database_is_unavailable(
    postgres: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []
    connect = asyncpg.connect

    async def refuse(*args: object, **options: object) -> object:
        tries.append(1)
        if len(tries) <= len(CONNECTION_ERRORS):
            raise CONNECTION_ERRORS[len(tries) - 1]
        return await connect(*args, **options)

    monkeypatch.setattr(asyncpg, "connect", refuse)
    async with collect_notifications(postgres, "moot_control") as notifications:
        assert len(tries) == len(CONNECTION_ERRORS) + 1
        await send_notification(postgres, "run_1")
        await wait_until(lambda: notifications == ["run_1"])


async def test_cancelled_listener_leaves_no_connection(postgres: Database) -> None:
    other = await asyncpg.connect(postgres.url)
    for _ in range(3):
        task = asyncio.create_task(module.receive_notifications(postgres, lambda: None))
        await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    async with listen_for_notifications(postgres):
        pass
    left = 1
    while left:
        left = await other.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
        )
    await other.close()
