"""The database itself: connections for reading and for writing, on SQLite or Postgres.

SQLite has one writer, so all writes of this process queue for one connection; readers never wait for it.
"""

import asyncio
import contextlib
import sqlite3
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, Literal, Self

import asyncpg
from sqlalchemy import event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from moot.model.errors import BadSettings, StoreUnavailable

BUSY_SECONDS = 5.0
READERS = 4
CONNECTIONS = 12

Topic = Literal["moot_events", "moot_control", "moot_changes"]
Handler = Callable[[str], None]


class Database:
    def __init__(self, url: str) -> None:
        self.url = url
        self.is_postgres = url.startswith(("postgresql://", "postgres://"))
        if self.is_postgres:
            self._reader = self._writer = _postgres(url)
        elif url.startswith("sqlite:///"):
            self.path = Path(url.removeprefix("sqlite:///")).expanduser()
            self._reader = _sqlite(self.path, readers=READERS, begin="BEGIN")
            self._writer = _sqlite(self.path, readers=1, begin="BEGIN IMMEDIATE")
        else:
            raise BadSettings(
                "MOOT_DATABASE_URL must begin with sqlite:/// or postgresql://, such as sqlite:////srv/moot.db."
            )
        self._writing = contextlib.nullcontext() if self.is_postgres else asyncio.Lock()
        self._handlers: defaultdict[str, list[Handler]] = defaultdict(list)

    @contextlib.asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        with mapped_errors():
            async with self._reader.connect() as connection:
                yield connection

    @contextlib.asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """Open a transaction that is committed at the end, or leaves nothing behind."""
        with mapped_errors():
            async with self._writing, self._writer.begin() as connection:
                told: list[tuple[Topic, str]] = []
                connection.info["told"] = told
                yield connection
        for topic, payload in told:
            self.heard(topic, payload)

    async def ping(self) -> None:
        async with self.read() as connection:
            await connection.execute(text("SELECT 1"))

    async def tell(self, connection: AsyncConnection, topic: Topic, payload: str) -> None:
        """Tell all who listen, in this process or another, once the transaction is through."""
        if self.is_postgres:
            await connection.execute(
                text("SELECT pg_notify(:topic, :payload)"), {"topic": topic, "payload": payload}
            )
        else:
            connection.info["told"].append((topic, payload))

    def listen(self, topic: Topic, handler: Handler) -> None:
        self._handlers[topic].append(handler)

    def heard(self, topic: str, payload: str) -> None:
        for handler in self._handlers[topic]:
            handler(payload)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._writer.dispose()
        await self._reader.dispose()


@contextlib.contextmanager
def mapped_errors() -> Iterator[None]:
    """Tell a database that cannot serve from a statement that is wrong."""
    try:
        yield
    except DBAPIError as error:
        if _is_trouble(error):
            raise StoreUnavailable(_words(error.orig)) from error
        raise
    except (PoolTimeout, OSError, asyncpg.PostgresConnectionError, asyncpg.CannotConnectNowError) as error:
        raise StoreUnavailable(_words(error)) from error


def _is_trouble(error: DBAPIError) -> bool:
    lasting = isinstance(error.orig, sqlite3.OperationalError) and "no such" in str(error.orig)
    kinds = (
        "OperationalError",
        "InterfaceError",
        "TooManyConnectionsError",
        "DiskFullError",
        "InternalClientError",
    )
    return error.connection_invalidated or (type(error).__name__ in kinds and not lasting)


def _words(error: BaseException | None) -> str:
    reason = str(error)
    if "locked" in reason or "busy" in reason:
        return "The database is busy with another program; try again in a moment."
    if "full" in reason or "No space" in reason:
        return "The disk that holds the database is full: make room, then try again."
    return f"The database cannot be reached ({type(error).__name__}); try again in a moment."


def _postgres(url: str) -> AsyncEngine:
    return create_async_engine(
        "postgresql+asyncpg://",
        async_creator=lambda: asyncpg.connect(url, timeout=10, command_timeout=30),
        pool_size=CONNECTIONS,
        max_overflow=0,
        pool_timeout=BUSY_SECONDS,
        pool_pre_ping=True,
    )


def _sqlite(path: Path, *, readers: int, begin: str) -> AsyncEngine:
    engine = create_async_engine(
        f"sqlite+aiosqlite:///{path}",
        pool_size=readers,
        max_overflow=0,
        pool_timeout=2 * BUSY_SECONDS,
        connect_args={"timeout": BUSY_SECONDS},
    )

    @event.listens_for(engine.sync_engine, "connect")
    def prepare(connection: Any, _: object) -> None:
        connection.isolation_level = None  # we say BEGIN ourselves, so that DDL is in transactions too
        cursor = connection.cursor()
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "cache_size=-16384"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def begin_transaction(connection: Any) -> None:
        connection.exec_driver_sql(begin)

    @event.listens_for(engine.sync_engine, "invalidate")
    def roll_back(connection: Any, *_: object) -> None:
        with contextlib.suppress(sqlite3.Error, ValueError):
            connection.rollback()

    return engine
