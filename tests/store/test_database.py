import asyncio
import gc
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest
from sqlalchemy import func, insert, select, text, update
from sqlalchemy.exc import DBAPIError

from moot.store import database as module
from moot.store.database import Database, map_database_errors, paginate
from moot.store.migrate import migrate
from moot.store.schema.accounts import tenant
from moot.types.errors import BadSettings, DatabaseUnavailable
from tests.support.databases import DATABASE_KINDS, DatabaseKind, database_url, open_migrated_database
from tests.support.postgres import database_address, postgres_server_url

SLOW_STATEMENTS = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT linger() UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT max(i) FROM n",
    "postgres": "SELECT pg_sleep(30)",
}


async def add_tenant(database: Database, id: str) -> None:
    async with database.write() as connection:
        await connection.execute(insert(tenant).values(id=id, name=id, created_at=0.0))


async def count_tenants(database: Database) -> int:
    async with database.read() as connection:
        return int((await connection.execute(select(func.count()).select_from(tenant))).scalar_one())


@contextmanager
def lock_sqlite_file(path: Path) -> Iterator[None]:
    """Hold the write lock of the file, as another program would."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@pytest.fixture
def short_busy_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.1)


async def test_write_transaction_is_atomic(database: Database) -> None:
    await add_tenant(database, "one")
    with pytest.raises(ZeroDivisionError):
        async with database.write() as connection:
            await connection.execute(insert(tenant).values(id="two", name="two", created_at=0.0))
            raise ZeroDivisionError
    assert await count_tenants(database) == 1


async def test_single_statements_return_rows_values_and_counts(database: Database) -> None:
    for id in ("one", "two"):
        await add_tenant(database, id)
    ids = select(tenant.c.id).order_by(tenant.c.id)
    nothing = ids.where(tenant.c.id == "three")
    assert [row.id for row in await database.fetch_all(ids)] == await database.fetch_values(ids) == ["one", "two"]
    assert (await database.fetch_first(ids), await database.fetch_first(nothing)) == (("one",), None)
    assert (await database.fetch_value(ids), await database.fetch_value(nothing)) == ("one", None)
    assert await database.fetch_structs(dict, ids) == ({"id": "one"}, {"id": "two"})
    assert (await database.fetch_struct(dict, ids), await database.fetch_struct(dict, nothing)) == ({"id": "one"}, None)
    assert await database.execute(update(tenant).values(name="same")) == 2
    assert await database.execute(text("DELETE FROM tenant WHERE id = :id"), {"id": "one"}) == 1
    assert await database.fetch_values(ids) == ["two"]


async def test_concurrent_reads_and_writes_succeed(database: Database) -> None:
    await asyncio.gather(
        *(add_tenant(database, str(n)) for n in range(40)),
        *(count_tenants(database) for _ in range(40)),
        database.ping(),
    )
    assert await count_tenants(database) == 40


async def test_reads_do_not_wait_for_writers(database: Database) -> None:
    async with database.write() as connection:
        await connection.execute(insert(tenant).values(id="one", name="one", created_at=0.0))
        assert await count_tenants(database) == 0
    assert await count_tenants(database) == 1


@pytest.mark.parametrize("kind", DATABASE_KINDS)
async def test_close_waits_for_connections_in_use(kind: DatabaseKind, tmp_path: Path) -> None:
    held, used = asyncio.Event(), asyncio.Event()

    async def reads(database: Database) -> None:
        async with database.read() as connection:
            await connection.execute(text("SELECT 1"))
            held.set()
            await asyncio.sleep(0.1)
            used.set()

    async with open_migrated_database(kind, tmp_path) as database:
        reading = asyncio.create_task(reads(database))
        await held.wait()
    assert used.is_set()
    await reading
    gc.collect()  # it warns of unclosed connections, and a warning is an error in tests


async def test_read_leaves_no_transaction_open(tmp_path: Path) -> None:
    async with open_migrated_database("postgres", tmp_path) as database:
        await asyncio.gather(*(count_tenants(database) for _ in range(8)))
        other = await asyncpg.connect(database.url)
        states = await other.fetch(
            "SELECT state FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        await other.close()
    assert {row["state"] for row in states} == {"idle"}


async def test_notification_is_sent_only_after_commit(tmp_path: Path) -> None:
    notifications: list[str] = []
    async with open_migrated_database("sqlite", tmp_path) as database:
        database.subscribe("moot_control", notifications.append)
        async with database.write() as connection:
            await database.notify(connection, "moot_control", "run_1")
            await database.notify(connection, "moot_changes", "nobody listens to this")
            assert notifications == []
        assert notifications == ["run_1"]
        with pytest.raises(ZeroDivisionError):
            async with database.write() as connection:
                await database.notify(connection, "moot_control", "run_2")
                raise ZeroDivisionError
        await add_tenant(database, "one")
    assert notifications == ["run_1"]


@pytest.mark.parametrize("kind", DATABASE_KINDS)
async def test_cancelled_statement_releases_connection_and_lock(kind: DatabaseKind, tmp_path: Path) -> None:
    async with open_migrated_database(kind, tmp_path) as database:
        begun, may_end = asyncio.Event(), threading.Event()
        loop = asyncio.get_running_loop()

        def linger() -> int:
            loop.call_soon_threadsafe(begun.set)
            may_end.wait(60)
            return 1

        async def write() -> None:
            async with database.write() as connection:
                await connection.execute(insert(tenant).values(id="one", name="one", created_at=0.0))
                driver: Any = (await connection.get_raw_connection()).driver_connection
                if kind == "sqlite":
                    await driver.create_function("linger", 0, linger)
                else:
                    begun.set()
                await connection.execute(text(SLOW_STATEMENTS[kind]))

        task = asyncio.create_task(write())
        await begun.wait()
        await asyncio.sleep(0.01)
        task.cancel()
        may_end.set()
        with pytest.raises(asyncio.CancelledError) as cancelled:  # it also holds the frames of the statement
            await task
        await add_tenant(database, "two")
        await add_tenant(database, "three")
        assert await count_tenants(database) == 2
        assert cancelled.value is not None


async def test_invalid_statement_raises_driver_error(database: Database) -> None:
    for statement in ("SELECT * FROM nothing", "SELEC"):
        with pytest.raises(DBAPIError):
            async with database.read() as connection:
                await connection.execute(text(statement))


@pytest.mark.usefixtures("short_busy_timeout")
async def test_busy_sqlite_file_times_out_and_stays_readable(tmp_path: Path) -> None:
    async with open_migrated_database("sqlite", tmp_path) as database:
        await add_tenant(database, "one")
        with lock_sqlite_file(database.path):
            with pytest.raises(DatabaseUnavailable, match="busy"):
                await add_tenant(database, "two")
            assert await count_tenants(database) == 1
        await add_tenant(database, "three")
        assert await count_tenants(database) == 2


@pytest.mark.usefixtures("short_busy_timeout")
async def test_writers_do_not_wait_forever_for_the_write_lock(tmp_path: Path) -> None:
    async with open_migrated_database("sqlite", tmp_path) as database:
        async with database.write() as connection:
            others = await asyncio.gather(*(add_tenant(database, str(n)) for n in range(9)), return_exceptions=True)
            assert {type(other) for other in others} == {DatabaseUnavailable}
            await connection.execute(insert(tenant).values(id="one", name="one", created_at=0.0))
        await add_tenant(database, "two")
        assert await count_tenants(database) == 2


async def test_full_disk_is_reported_and_data_stays_readable(tmp_path: Path) -> None:
    async with open_migrated_database("sqlite", tmp_path) as database:
        await add_tenant(database, "one")
        async with database.write() as connection:
            pages = (await connection.execute(text("PRAGMA page_count"))).scalar_one()
            await connection.execute(text(f"PRAGMA max_page_count = {pages}"))
        with pytest.raises(DatabaseUnavailable, match="full"):
            async with database.write() as connection:
                big = insert(tenant).values(id="big", name="x" * 1_000_000, created_at=0.0)
                await connection.execute(big)
        assert await count_tenants(database) == 1
        async with database.write() as connection:
            await connection.execute(text(f"PRAGMA max_page_count = {pages + 1000}"))
            assert (await connection.execute(text("PRAGMA integrity_check"))).scalar() == "ok"
        await add_tenant(database, "two")


@pytest.mark.parametrize("moment", ["idle", "busy", "about to commit"])
async def test_lost_postgres_connection_is_reported_and_reopened(moment: str, tmp_path: Path) -> None:
    async with open_migrated_database("postgres", tmp_path) as database:
        other = await asyncpg.connect(database.url)
        with pytest.raises(DatabaseUnavailable, match="cannot be reached"):
            async with database.write() as connection:
                await connection.execute(insert(tenant).values(id="one", name="one", created_at=0.0))
                pid = (await connection.execute(text("SELECT pg_backend_pid()"))).scalar_one()
                breaking = asyncio.create_task(other.execute("SELECT pg_terminate_backend($1, 5000)", pid))
                if moment == "busy":
                    await connection.execute(text(SLOW_STATEMENTS["postgres"]))
                await breaking
                if moment == "idle":
                    await connection.execute(text("SELECT 1"))
        await breaking
        await other.close()
        await add_tenant(database, "two")
        assert await count_tenants(database) == 1


async def test_deadlock_raises_database_unavailable(tmp_path: Path) -> None:
    async with open_migrated_database("postgres", tmp_path) as database:
        await add_tenant(database, "one")
        await add_tenant(database, "two")
        both = asyncio.Barrier(2)

        async def lock(first: str, second: str) -> None:
            async with database.write() as connection:
                for id in (first, second):
                    query = select(tenant.c.id).where(tenant.c.id == id).with_for_update()
                    await connection.execute(query)
                    if id == first:
                        await both.wait()

        ends = await asyncio.gather(lock("one", "two"), lock("two", "one"), return_exceptions=True)
    assert sorted(type(end).__name__ for end in ends) == ["DatabaseUnavailable", "NoneType"]


async def test_sqlite_file_name_may_contain_special_characters(tmp_path: Path) -> None:
    folder = tmp_path / "50% done? #1"
    folder.mkdir()
    async with open_migrated_database("sqlite", folder) as database:
        await add_tenant(database, "one")
    assert (folder / "moot.db").is_file()


async def test_two_databases_on_one_file_share_data(tmp_path: Path) -> None:
    async with (
        database_url("sqlite", tmp_path) as url,
        Database(url) as one,
        Database(url) as other,
    ):
        await migrate(one)
        await asyncio.gather(*(add_tenant((one, other)[n % 2], str(n)) for n in range(20)))
        assert await count_tenants(one) == await count_tenants(other) == 20


async def test_unknown_database_url_scheme_is_rejected() -> None:
    with pytest.raises(BadSettings, match="MOOT_DATABASE_URL must begin with"):
        Database("mysql://root@localhost/moot")


async def test_invalid_postgres_url_is_rejected_without_showing_password() -> None:
    async with Database("postgresql://moot:se/cret@localhost/moot") as database:
        with pytest.raises(BadSettings, match="cannot be read") as caught:
            await database.ping()
    assert "se" not in str(caught.value).split()
    assert "cret" not in str(caught.value)


async def test_unreachable_database_is_reported_with_its_reason() -> None:
    parts = urlsplit(await asyncio.to_thread(postgres_server_url))
    nowhere = {
        "postgresql://127.0.0.1:1/moot": r"cannot be reached \(ConnectionRefused",
        database_address("nothing"): "Create it first",
        parts._replace(netloc=f"nobody:@{parts.netloc.rpartition('@')[2]}").geturl(): "rejects the user",
    }
    for url, words in nowhere.items():
        async with Database(url) as database:
            with pytest.raises(DatabaseUnavailable, match=words):
                await database.ping()


@pytest.mark.parametrize(
    "error", [asyncpg.InternalClientError("out of step"), asyncpg.InterfaceError("closed"), OSError("gone")]
)
def test_driver_connection_errors_become_database_unavailable(
    error: Exception,
) -> None:
    with pytest.raises(DatabaseUnavailable, match="cannot be reached"), map_database_errors():
        raise error


@pytest.mark.parametrize(
    ("found", "page", "following"),
    [
        ([], (), None),
        ([3], (3,), None),
        ([3, 2], (3, 2), None),
        ([3, 2, 1], (3, 2), "2"),
    ],
)
def test_paginate_returns_cursor_only_when_more_rows_follow(
    found: list[int], page: tuple[int, ...], following: str | None
) -> None:
    assert paginate(found, 2, str) == (page, following)
