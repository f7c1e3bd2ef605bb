import asyncio
import signal
import sys
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg
import pytest
from sqlalchemy import Connection, inspect, text, update

from moot.store.database import Database
from moot.store.migrate import HEAD_REVISION, migrate
from moot.store.schema import metadata
from moot.store.schema.runs import run
from moot.types.errors import BadSettings, DatabaseUnavailable
from tests.store.schema_comparison import schema_differences
from tests.support.accounts import ANNA, create_accounts, create_discussion
from tests.support.databases import DATABASE_KINDS, DatabaseKind, database_url, open_migrated_database
from tests.support.runs import WORKER, create_run, register_workers

# A process that is killed when its migration has created all tables but not all search indexes.
KILLED_MIGRATION_SCRIPT = """
import asyncio, os, signal, sys
from alembic.operations import Operations
from moot.store.database import Database
from moot.store.migrate import migrate

async def main():
    async with Database(sys.argv[1]) as database:
        await migrate(database)

Operations.execute = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""


def table_names(connection: Connection) -> set[str]:
    return set(inspect(connection).get_table_names())


@pytest.mark.parametrize("kind", DATABASE_KINDS)
async def test_concurrent_migrations_create_one_schema(kind: DatabaseKind, tmp_path: Path) -> None:
    async with database_url(kind, tmp_path) as url, Database(url) as one, Database(url) as other:
        await asyncio.gather(migrate(one), migrate(other))
        async with one.read() as connection:
            assert set(metadata.tables) <= await connection.run_sync(table_names)
            versions = await connection.execute(text("SELECT version_num FROM alembic_version"))
            assert versions.all() == [(HEAD_REVISION,)]


@pytest.mark.parametrize("kind", DATABASE_KINDS)
async def test_failed_migration_is_rolled_back(
    kind: DatabaseKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with database_url(kind, tmp_path) as url, Database(url) as database:
        with monkeypatch.context() as patch:
            patch.setattr("alembic.operations.Operations.execute", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                await migrate(database)
        async with database.read() as connection:
            assert not set(metadata.tables) & await connection.run_sync(table_names)
        await migrate(database)
        async with database.read() as connection:
            assert await connection.run_sync(schema_differences) == []


@pytest.mark.slow  # the previous test kills no process; the test of a first start in tests/test_durability.py does
@pytest.mark.parametrize("kind", DATABASE_KINDS)
async def test_killed_migration_is_completed_by_the_next(kind: DatabaseKind, tmp_path: Path) -> None:
    async with database_url(kind, tmp_path) as url, Database(url) as database:
        killed = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED_MIGRATION_SCRIPT, url)
        assert await killed.wait() == -signal.SIGKILL
        await migrate(database)
        async with database.read() as connection:
            assert await connection.run_sync(schema_differences) == []


@pytest.mark.parametrize("kind", DATABASE_KINDS)
async def test_repeated_migration_keeps_data(kind: DatabaseKind, tmp_path: Path) -> None:
    async with open_migrated_database(kind, tmp_path) as database:
        await create_accounts(database)
        await register_workers(database, WORKER)
        await create_run(database, await create_discussion(database, ANNA, "still here"))
        await migrate(database)
        async with database.write() as connection:
            assert (await connection.execute(update(run).values(status="completed"))).rowcount == 1


@pytest.mark.parametrize("kind", DATABASE_KINDS)
@pytest.mark.parametrize(("revision", "reason"), [("9999", "newer Moot"), ("0008", "older Moot.* cannot upgrade")])
async def test_database_of_unknown_revision_is_rejected(
    kind: DatabaseKind, revision: str, reason: str, tmp_path: Path
) -> None:
    async with open_migrated_database(kind, tmp_path) as database:
        async with database.write() as connection:
            await connection.execute(text("UPDATE alembic_version SET version_num = :it"), {"it": revision})
        with pytest.raises(BadSettings, match=f"{reason}.*another database"):
            await migrate(database)
        async with database.read() as connection:
            found = await connection.execute(text("SELECT version_num FROM alembic_version"))
            assert found.scalar() == revision


async def test_sqlite_folder_is_accessible_only_by_owner(tmp_path: Path) -> None:
    path = tmp_path / "data" / "moot.db"
    async with Database(f"sqlite:///{path}") as database:
        await migrate(database)
    assert path.parent.stat().st_mode & 0o777 == 0o700


async def test_user_without_create_privilege_gets_advice(tmp_path: Path) -> None:
    async with database_url("postgres", tmp_path) as url:
        owner = await asyncpg.connect(url)
        role = f"guest_{uuid4().hex}"
        await owner.execute(f"CREATE ROLE {role} LOGIN")
        try:
            parts = urlsplit(url)
            guest = parts._replace(netloc=f"{role}:@{parts.netloc.rpartition('@')[2]}").geturl()
            async with Database(guest) as database:
                with pytest.raises(BadSettings, match="owner of the database"):
                    await migrate(database)
        finally:
            await owner.execute(f"DROP ROLE {role}")
            await owner.close()


async def test_missing_postgres_database_is_reported(tmp_path: Path) -> None:
    async with database_url("postgres", tmp_path) as url:
        elsewhere = urlsplit(url)._replace(path="/nowhere").geturl()
        async with Database(elsewhere) as database:
            with pytest.raises(DatabaseUnavailable, match="Create it first"):
                await migrate(database)
