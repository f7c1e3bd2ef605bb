"""Database connections and transactions, on SQLite or Postgres.

SQLite allows one writer, so all writes of this process queue for one connection. Reads never wait for it.
"""

import asyncio
import contextlib
import logging
import sqlite3
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, ParamSpec, Self, TypeVar, cast
from uuid import uuid4

import asyncpg
from sqlalchemy import URL, Column, Executable, QueuePool, Row, Select, Table, event, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, InterfaceError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from moot.types.errors import BadSettings, DatabaseUnavailable

BUSY_SECONDS = 5.0
CLOSING_SECONDS = 5.0
SQLITE_READERS = 4
POSTGRES_CONNECTIONS = 12
FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS = 0.1, 2.0

# SQLSTATE prefixes that report the state of the server, not a bad statement: connection errors, a read-only standby,
# failed login, missing database, deadlock, resource limits, lock timeout, shutdown, system errors.
UNAVAILABLE_SQLSTATES = ("08", "25006", "28", "3D", "40", "53", "55P03", "57", "58")

# asyncpg raises these errors, which have no SQLSTATE, when a connection breaks.
CONNECTION_ERRORS = (asyncpg.InterfaceError, asyncpg.InternalClientError)
POSTGRES_ERRORS = (asyncpg.PostgresError, *CONNECTION_ERRORS)

BUSY_MESSAGE = "The database is busy; try again in a moment."

Topic = Literal["moot_events", "moot_control", "moot_changes"]
NotificationHandler = Callable[[str], None]
P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger(__name__)


class Database:
    """Connection pools of one database, and notifications between the processes that use it."""

    def __init__(self, url: str, connections: int = POSTGRES_CONNECTIONS) -> None:
        """`connections` is the pool size on Postgres. The event log uses one more connection."""
        self.url = url
        self.is_postgres = url.startswith(("postgresql://", "postgres://"))
        if self.is_postgres:
            self._read_engine = self._write_engine = _create_postgres_engine(url, connections)
        elif url.startswith("sqlite:///"):
            self.path = Path(url.removeprefix("sqlite:///")).expanduser()
            self._read_engine = _create_sqlite_engine(self.path, pool_size=SQLITE_READERS, begin_statement="BEGIN")
            self._write_engine = _create_sqlite_engine(self.path, pool_size=1, begin_statement="BEGIN IMMEDIATE")
        else:
            raise BadSettings(
                "MOOT_DATABASE_URL must begin with sqlite:/// or postgresql://, such as sqlite:////srv/moot.db."
            )
        self.instance_id = uuid4().hex[:12]  # sender in notifications, so that a process skips its own
        self._write_lock = asyncio.Lock()
        self._log_lock = asyncio.Lock()
        self._log_postgres: asyncpg.Connection[Any] | None = None
        self._log_sqlite: sqlite3.Connection | None = None
        self._log_thread = ThreadPoolExecutor(1, thread_name_prefix="moot-log")
        self._handlers: defaultdict[str, list[NotificationHandler]] = defaultdict(list)

    @contextlib.asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        with map_database_errors():
            async with self._read_engine.connect() as connection:
                yield connection

    @contextlib.asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """Open a transaction. It commits at the end and rolls back on any exception."""
        with map_database_errors():
            async with self._wait_for_writer(), self._write_engine.begin() as connection:
                notifications: list[tuple[Topic, str]] = []
                connection.info["notifications"] = notifications
                yield connection
        for topic, payload in notifications:
            self.dispatch_notification(topic, payload)

    @contextlib.asynccontextmanager
    async def _wait_for_writer(self) -> AsyncIterator[None]:
        """Queue for the single writer of SQLite, first in, first out.

        Raises DatabaseUnavailable after BUSY_SECONDS. On Postgres it returns at once.
        """
        if self.is_postgres:
            yield
            return
        try:
            async with asyncio.timeout(BUSY_SECONDS):
                await self._write_lock.acquire()
        except TimeoutError:
            raise DatabaseUnavailable(BUSY_MESSAGE) from None
        try:
            yield
        finally:
            self._write_lock.release()

    # The methods from here to `execute` run one statement each, on a connection of their own.

    async def fetch_all(self, query: Executable) -> Sequence[Row[*tuple[Any, ...]]]:
        async with self.read() as connection:
            return (await connection.execute(query)).all()

    async def fetch_first(self, query: Executable) -> Row[*tuple[Any, ...]] | None:
        async with self.read() as connection:
            return (await connection.execute(query)).first()

    async def fetch_value(self, query: Executable) -> Any:
        """Return the first column of the first row; None if there is no row."""
        row = await self.fetch_first(query)
        return row[0] if row is not None else None

    async def fetch_values(self, query: Executable) -> list[Any]:
        """Return the first column of all rows."""
        return [row[0] for row in await self.fetch_all(query)]

    async def fetch_structs(self, type_: Callable[..., T], query: Executable) -> tuple[T, ...]:
        """Call `type_` with the columns of each row."""
        async with self.read() as connection:
            return tuple(type_(**row) for row in (await connection.execute(query)).mappings())

    async def fetch_struct(self, type_: Callable[..., T], query: Executable) -> T | None:
        return next(iter(await self.fetch_structs(type_, query)), None)

    async def fetch_page(
        self, type_: Callable[..., T], query: Select[*tuple[Any, ...]], id: Column[Any], cursor: str | None, limit: int
    ) -> tuple[tuple[T, ...], str | None]:
        """Return a page by descending id, and its cursor as `paginate` does."""
        if cursor is not None:
            query = query.where(id < cursor)
        found = await self.fetch_structs(type_, query.order_by(id.desc()).limit(limit + 1))
        return paginate(found, limit, attrgetter("id"))

    async def execute(self, statement: Executable, parameters: Mapping[str, Any] | None = None) -> int:
        """Return the number of rows that the statement wrote."""
        async with self.write() as connection:
            return (await connection.execute(statement, parameters)).rowcount

    @contextlib.asynccontextmanager
    async def log_connection(self) -> AsyncIterator["asyncpg.Connection[Any]"]:
        """Yield the Postgres connection of the event log, outside any transaction. One caller at a time uses it."""
        with map_database_errors():
            async with self._log_lock:
                if self._log_postgres is None or self._log_postgres.is_closed():
                    self._log_postgres = await connect_postgres(self.url)
                try:
                    yield self._log_postgres
                except BaseException:
                    self._log_postgres.terminate()  # its state is unknown: the next caller reconnects
                    raise

    async def run_on_log_thread(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` on the SQLite connection of the event log, in its thread: one thread switch per batch."""
        with map_database_errors():
            async with self._wait_for_writer():
                return await asyncio.get_running_loop().run_in_executor(
                    self._log_thread, self._run_with_log_connection, work
                )

    def _run_with_log_connection(self, work: Callable[[sqlite3.Connection], T]) -> T:
        if self._log_sqlite is None:
            self._log_sqlite = sqlite3.connect(self.path, timeout=BUSY_SECONDS)
            _configure_sqlite(self._log_sqlite)
        return work(self._log_sqlite)

    async def ping(self) -> None:
        async with self.read() as connection:
            await connection.execute(text("SELECT 1"))

    def insert_into(self, table: Table) -> Any:
        """Return an INSERT of this dialect, which supports ON CONFLICT clauses."""
        return (postgresql if self.is_postgres else sqlite).insert(table)

    async def notify(self, connection: AsyncConnection, topic: Topic, payload: str) -> None:
        """Notify the subscribers of all processes when the transaction commits."""
        if self.is_postgres:
            await connection.execute(text("SELECT pg_notify(:topic, :payload)"), {"topic": topic, "payload": payload})
        else:
            connection.info["notifications"].append((topic, payload))

    def subscribe(self, topic: Topic, handler: NotificationHandler) -> None:
        self._handlers[topic].append(handler)

    def dispatch_notification(self, topic: str, payload: str) -> None:
        for handler in self._handlers[topic]:
            handler(payload)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._log_postgres is not None:
            self._log_postgres.terminate()
        if self._log_sqlite is not None:
            await asyncio.get_running_loop().run_in_executor(self._log_thread, self._log_sqlite.close)
        self._log_thread.shutdown(wait=False)
        for engine in {self._write_engine, self._read_engine}:
            await _wait_for_returned_connections(engine)
            await engine.dispose()


async def _wait_for_returned_connections(engine: AsyncEngine) -> None:
    """Wait until the pool has all connections back, for CLOSING_SECONDS at most.

    A cancelled task returns its connection in the background. `dispose` would leave that connection open.
    """
    pool = cast(QueuePool, engine.pool)
    try:
        async with asyncio.timeout(CLOSING_SECONDS):
            while pool.checkedout():  # noqa: ASYNC110 - the pool has no event for this
                await asyncio.sleep(0.01)
    except TimeoutError:
        log.warning("database closed with connections in use", extra={"connections": pool.checkedout()})


@contextlib.contextmanager
def map_database_errors() -> Iterator[None]:
    """Raise DatabaseUnavailable if the database cannot serve. Errors of a bad statement pass unchanged."""
    try:
        yield
    except DBAPIError as error:
        is_broken = error.connection_invalidated or isinstance(error, InterfaceError)
        if is_broken or _is_unavailable(error.orig):
            raise DatabaseUnavailable(_error_message(error.orig)) from error
        raise
    except (*POSTGRES_ERRORS, sqlite3.OperationalError) as error:
        if _is_unavailable(error):
            raise DatabaseUnavailable(_error_message(error)) from error
        raise
    except PoolTimeout as error:
        raise DatabaseUnavailable(BUSY_MESSAGE) from error
    except OSError as error:
        raise DatabaseUnavailable(_error_message(error)) from error


def retry_while_unavailable(operation: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Decorate an operation of background work to retry, with backoff, until the database answers.

    An HTTP request must fail instead. Each attempt calls the whole operation, so it opens its own transaction.
    It must be idempotent: a transaction may have committed before the connection broke.
    """

    @wraps(operation)
    async def retried(*args: P.args, **kwargs: P.kwargs) -> T:
        wait = FIRST_RETRY_SECONDS
        while True:
            try:
                return await operation(*args, **kwargs)
            except DatabaseUnavailable as error:
                log.warning("database unavailable; retrying", extra={"reason": str(error), "seconds": wait})
                await asyncio.sleep(wait)
                wait = min(2 * wait, MAX_RETRY_SECONDS)

    return retried


def _is_unavailable(error: BaseException | None) -> bool:
    if isinstance(error, sqlite3.OperationalError):  # a bad statement is a plain SQLITE_ERROR
        return getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_ERROR
    state = getattr(error, "sqlstate", None) or ""
    return isinstance(error, CONNECTION_ERRORS) or state.startswith(UNAVAILABLE_SQLSTATES)


def _error_message(error: BaseException | None) -> str:
    reason = str(error)
    if "locked" in reason or "busy" in reason:
        return BUSY_MESSAGE
    if "full" in reason or "No space" in reason:
        return "The disk that holds the database is full: free some space, then try again."
    cause = getattr(error, "__cause__", None) or error
    state = getattr(cause, "sqlstate", None) or ""
    if state.startswith("3D"):
        return "MOOT_DATABASE_URL: this database does not exist. Create it first, for example with createdb."
    if state.startswith("28"):
        return "MOOT_DATABASE_URL: Postgres rejects the user or the password. Check both."
    kind = type(cause).__name__
    return f"The database cannot be reached ({kind}); try again in a moment."


async def connect_postgres(url: str) -> Any:
    try:
        return await asyncpg.connect(url, timeout=10, command_timeout=30)
    except ValueError:  # its text may contain a part of the password
        raise BadSettings(
            "MOOT_DATABASE_URL cannot be read. Write postgresql://user:password@host:port/name, and percent-encode "
            "special characters in the password, such as %2F."
        ) from None


def _create_postgres_engine(url: str, connections: int) -> AsyncEngine:
    return create_async_engine(
        "postgresql+asyncpg://",
        async_creator=lambda: connect_postgres(url),
        pool_size=connections,
        max_overflow=0,
        pool_timeout=BUSY_SECONDS,
        pool_pre_ping=True,
        hide_parameters=True,  # the log of a failed statement must not contain messages of users
    )


def _create_sqlite_engine(path: Path, *, pool_size: int, begin_statement: str) -> AsyncEngine:
    engine = create_async_engine(
        URL.create("sqlite+aiosqlite", database=str(path)),
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=2 * BUSY_SECONDS,
        connect_args={"timeout": BUSY_SECONDS},
        hide_parameters=True,
    )

    @event.listens_for(engine.sync_engine, "connect")
    def configure_connection(connection: Any, _: object) -> None:
        _configure_sqlite(connection)

    @event.listens_for(engine.sync_engine, "begin")
    def begin_transaction(connection: Any) -> None:
        connection.exec_driver_sql(begin_statement)

    @event.listens_for(engine.sync_engine, "invalidate")
    def roll_back(connection: Any, *_: object) -> None:
        """Release the lock. Closing does not, if a cancelled task left a statement open."""
        with contextlib.suppress(sqlite3.Error, ValueError):
            connection.rollback()

    return engine


def _configure_sqlite(connection: Any) -> None:
    connection.isolation_level = None  # the engine sends BEGIN itself, so that DDL is transactional
    cursor = connection.cursor()
    with contextlib.suppress(sqlite3.OperationalError):  # the process that locks the new file sets it for all
        cursor.execute("PRAGMA journal_mode=WAL")
    for pragma in ("synchronous=NORMAL", "foreign_keys=ON", "cache_size=-16384"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def paginate(rows: Sequence[T], limit: int, make_cursor: Callable[[T], str]) -> tuple[tuple[T, ...], str | None]:
    """Return a page, and the cursor of its last row if more rows follow. Pass up to `limit + 1` rows."""
    page = tuple(rows[:limit])
    return page, make_cursor(page[-1]) if len(rows) > limit else None
