"""Hearing what other processes tell through Postgres. Signals may be lost while it is away: `missed` says so."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import get_args

import asyncpg

from moot.store.database import POSTGRES_ERRORS, Database, Topic

TOPICS = get_args(Topic)
ALIVE_SECONDS = 5.0
AGAIN_SECONDS = 0.5

log = logging.getLogger(__name__)


async def listen(database: Database, missed: Callable[[], None]) -> None:
    """Pass on what is told until cancelled; call `missed` each time the connection had to be made anew."""
    while True:
        with contextlib.suppress(OSError, *POSTGRES_ERRORS):
            await _until_lost(database, missed)
        log.warning("lost the connection that listens to Postgres; connecting again")
        await asyncio.sleep(AGAIN_SECONDS)


async def _until_lost(database: Database, missed: Callable[[], None]) -> None:
    connection = await asyncpg.connect(database.url, timeout=ALIVE_SECONDS)
    lost = asyncio.Event()
    connection.add_termination_listener(lambda _: lost.set())

    def heard(_connection: object, _pid: int, topic: str, payload: str) -> None:
        database.heard(topic, payload)

    try:
        for topic in TOPICS:
            await connection.add_listener(topic, heard)
        missed()
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ALIVE_SECONDS):
                    await lost.wait()
            await connection.execute("SELECT 1", timeout=ALIVE_SECONDS)
    finally:
        with contextlib.suppress(Exception):
            await connection.close(timeout=1)
