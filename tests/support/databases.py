"""Real databases for tests: a file of SQLite, and a database of the Postgres server of the run."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Literal
from uuid import uuid4

import asyncpg
import pytest

from moot.engine.runs.dbos import prepare_dbos_database
from moot.store.database import Database
from moot.store.migrate import migrate
from tests.support.postgres import DATABASE_PREFIX, database_address, postgres_server_url, temporary_folder
from tests.support.process_lock import hold_process_lock
from tests.support.sqlalchemy_dialects import register_shared_dialects

DatabaseKind = Literal["sqlite", "postgres"]
DATABASE_KINDS: tuple[DatabaseKind, ...] = ("sqlite", "postgres")
# For tests of code that has no SQL of its own: what it stores is tested on both databases in tests/store.
SLOW_ON_POSTGRES = ("sqlite", pytest.param("postgres", marks=pytest.mark.slow))
# For what differs by database, where the fixture `database` has SQLite alone in the first ring.
ON_BOTH_DATABASES = pytest.mark.parametrize("database", DATABASE_KINDS, indirect=True)

MIGRATION_LOCK = Lock()
register_shared_dialects()


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """For tests that make databases: a folder in memory, so that they need not wait for the disk."""
    with tempfile.TemporaryDirectory(prefix="moot-test-", dir=temporary_folder()) as folder:
        yield Path(folder)


@asynccontextmanager
async def database_url(kind: DatabaseKind, folder: Path) -> AsyncIterator[str]:
    """An empty database of its own for a test."""
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'moot.db'}"
        return
    async with _copy_postgres_database("template1") as url:
        yield url


@asynccontextmanager
async def _copy_postgres_database(template: str) -> AsyncIterator[str]:
    """A database that begins as a copy of another."""
    address = await asyncio.to_thread(postgres_server_url)
    name = f"{DATABASE_PREFIX}_{uuid4().hex}"
    admin = await asyncpg.connect(address)
    try:
        # To copy files is the cheaper way for a server whose files are in memory.
        await admin.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
        yield database_address(name)
        await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        await admin.close()


@asynccontextmanager
async def migrated_database_url(kind: DatabaseKind, folder: Path) -> AsyncIterator[str]:
    """A database of its own for a test, with all tables: a copy of one that was migrated."""
    if kind == "sqlite":
        await asyncio.to_thread(write_migrated_database, folder)
        yield f"sqlite:///{folder / 'moot.db'}"
        return
    async with _copy_postgres_database(await asyncio.to_thread(migrated_template_name)) as url:
        yield url


@asynccontextmanager
async def open_migrated_database(kind: DatabaseKind, folder: Path) -> AsyncIterator[Database]:
    async with migrated_database_url(kind, folder) as url, Database(url) as database:
        yield database


def write_migrated_database(folder: Path) -> None:
    """Write a SQLite database with all tables into a folder, and the database of DBOS beside it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, content in migrated_files().items():
        (folder / name).write_bytes(content)


def migrated_files() -> dict[str, bytes]:
    """Return the contents of the database and of the database of DBOS, by the names of their files."""
    with MIGRATION_LOCK:
        return _cached_migrated_files()


@cache
def _cached_migrated_files() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory(prefix="moot-db-") as folder:
        path = Path(folder, "moot.db")
        asyncio.run(_migrate_database(f"sqlite:///{path}", with_dbos=True))
        assert not list(path.parent.glob("*-wal"))  # all of it is in the files
        return {file.name: file.read_bytes() for file in path.parent.iterdir()}


def migrated_template_name() -> str:
    """Return the name of a Postgres database without connections, so that it can be copied."""
    with MIGRATION_LOCK:
        return _cached_template_name()


@cache
def _cached_template_name() -> str:
    address = postgres_server_url()
    with hold_process_lock("postgres"):  # one process makes it for all
        return asyncio.run(_create_template(address, f"{DATABASE_PREFIX}_template"))


async def _create_template(address: str, name: str) -> str:
    """Create the template if it does not exist. It has another name until it is complete."""
    draft = f"{DATABASE_PREFIX}_draft"
    admin = await asyncpg.connect(address)
    if await admin.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", name) is None:
        await admin.execute(f"DROP DATABASE IF EXISTS {draft} WITH (FORCE)")
        await admin.execute(f"CREATE DATABASE {draft}")
        await _migrate_database(database_address(draft))
        await admin.execute(f"ALTER DATABASE {draft} RENAME TO {name}")
    await admin.close()
    return name


async def _migrate_database(url: str, *, with_dbos: bool = False) -> None:
    async with Database(url) as database:
        await migrate(database)
        if with_dbos:
            await prepare_dbos_database(import_module("dbos"), database)
