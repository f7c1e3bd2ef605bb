"""Leader election by a Postgres advisory lock, and file locks."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TextIO

from moot.store.database import POSTGRES_ERRORS, Database, connect_postgres, map_database_errors
from moot.types.errors import DatabaseUnavailable

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


HAS_FILE_LOCKS = fcntl is not None


def try_lock_file(file: TextIO) -> bool | None:
    """Lock a file until it is closed. Return False if another process holds it, None if there are no file locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


POLL_SECONDS = 5.0
PING_TIMEOUT_SECONDS = 5.0
TRY_ADVISORY_LOCK = "SELECT pg_try_advisory_lock(hashtextextended($1, 0))"

LeaderTask = Callable[[], Coroutine[Any, Any, None]]

log = logging.getLogger(__name__)


async def run_as_leader(database: Database, lock_name: str, task: LeaderTask) -> None:
    """Run `task` to its end while no other server runs it.

    The lock is lost with the connection that holds it: another server may be the leader then. So the task is
    cancelled, and starts again when this server has the lock again.
    """
    if not database.is_postgres:  # one process per SQLite file
        await task()
        return
    while True:
        try:
            connection = await _acquire_leadership(database, lock_name)
        except DatabaseUnavailable:
            await asyncio.sleep(POLL_SECONDS)
            continue
        try:
            if await _run_until_disconnected(task, connection):
                return
        finally:
            connection.terminate()  # releases the lock
        log.warning("leader lock lost; acquiring it again", extra={"what": lock_name})


async def _acquire_leadership(database: Database, lock_name: str) -> Any:
    """Poll until the advisory lock is free, and return the connection that holds it."""
    with map_database_errors():
        connection = await connect_postgres(database.url)
        try:
            while not await connection.fetchval(TRY_ADVISORY_LOCK, lock_name):  # noqa: ASYNC110 - there is no event for a released lock
                await asyncio.sleep(POLL_SECONDS)
        except BaseException:
            connection.terminate()
            raise
        return connection


async def _run_until_disconnected(leader_task: LeaderTask, connection: Any) -> bool:
    """Return whether the task ended before the connection broke. Raises the error of the task."""
    working, watching = (asyncio.create_task(leader_task()), asyncio.create_task(_wait_for_disconnect(connection)))
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            return False
        working.result()
        return True
    finally:
        for task in (working, watching):
            task.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


async def _wait_for_disconnect(connection: Any) -> None:
    lost = asyncio.Event()
    connection.add_termination_listener(lambda _: lost.set())
    with suppress(*POSTGRES_ERRORS, OSError, TimeoutError):
        while not connection.is_closed():
            with suppress(TimeoutError):
                await asyncio.wait_for(lost.wait(), POLL_SECONDS)
            # A broken network sends no event, so poll with a query.
            await connection.fetchval("SELECT 1", timeout=PING_TIMEOUT_SECONDS)
