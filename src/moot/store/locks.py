"""Leader election by a Postgres advisory lock, and file locks."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TextIO

from moot.store.database import POSTGRES_ERRORS, Database, connected, mapped_errors
from moot.types.errors import StoreUnavailable

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


IS_KNOWN = fcntl is not None


def hold(file: TextIO) -> bool | None:
    """Hold a file until it is closed, and tell whether that worked; None where the system has no such thing."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


LOOK_SECONDS = 5.0
ANSWER_SECONDS = 5.0
TAKE = "SELECT pg_try_advisory_lock(hashtextextended($1, 0))"

Work = Callable[[], Coroutine[Any, Any, None]]

log = logging.getLogger(__name__)


async def solely(database: Database, what: str, work: Work) -> None:
    """Do some work to its end while no other server does; it begins anew where that was not sure any more."""
    if not database.is_postgres:  # a file of SQLite serves one process
        await work()
        return
    while True:
        try:
            connection = await _held(database, what)
        except StoreUnavailable:
            await asyncio.sleep(LOOK_SECONDS)
            continue
        try:
            if await _done(work, connection):
                return
        finally:
            connection.terminate()
        log.warning("the connection that holds this for this server is lost", extra={"what": what})


async def _held(database: Database, what: str) -> Any:
    """Wait until nobody else has it, and return the connection that has it now."""
    with mapped_errors():
        connection = await connected(database.url)
        try:
            while not await connection.fetchval(TAKE, what):  # noqa: ASYNC110 - nobody tells when it is free
                await asyncio.sleep(LOOK_SECONDS)
        except BaseException:
            connection.terminate()
            raise
        return connection


async def _done(work: Work, connection: Any) -> bool:
    """Tell whether the work came to its end before the connection was lost."""
    working, watching = asyncio.create_task(work()), asyncio.create_task(_until_lost(connection))
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


async def _until_lost(connection: Any) -> None:
    lost = asyncio.Event()
    connection.add_termination_listener(lambda _: lost.set())
    with suppress(*POSTGRES_ERRORS, OSError, TimeoutError):
        while not connection.is_closed():
            with suppress(TimeoutError):
                await asyncio.wait_for(lost.wait(), LOOK_SECONDS)
            await connection.fetchval("SELECT 1", timeout=ANSWER_SECONDS)
