"""Listener for Postgres notifications of other processes.

Notifications are lost while the connection is down. `on_gap` reports this, so that readers can poll.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import get_args

import asyncpg

from moot.store.database import POSTGRES_ERRORS, Database, Topic

TOPICS = get_args(Topic)
KEEPALIVE_SECONDS = 5.0
RECONNECT_SECONDS = 0.5

log = logging.getLogger(__name__)


async def receive_notifications(database: Database, on_gap: Callable[[], None]) -> None:
    """Dispatch notifications until cancelled. Calls `on_gap` after each connect, also after the first."""
    while True:
        with contextlib.suppress(OSError, *POSTGRES_ERRORS):
            await _receive_until_disconnected(database, on_gap)
        log.warning("notification connection lost; reconnecting")
        await asyncio.sleep(RECONNECT_SECONDS)


async def _receive_until_disconnected(database: Database, on_gap: Callable[[], None]) -> None:
    connection = await asyncpg.connect(database.url, timeout=KEEPALIVE_SECONDS)
    lost = asyncio.Event()
    connection.add_termination_listener(lambda _: lost.set())

    def on_notification(_connection: object, _pid: int, topic: str, payload: str) -> None:
        database.dispatch_notification(topic, payload)

    try:
        for topic in TOPICS:
            await connection.add_listener(topic, on_notification)
        on_gap()  # after LISTEN, so that no notification is missed in between
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(KEEPALIVE_SECONDS):
                    await lost.wait()
            # A broken network sends no event, so poll with a query.
            await connection.execute("SELECT 1", timeout=KEEPALIVE_SECONDS)
    finally:
        with contextlib.suppress(Exception):
            await connection.close(timeout=1)
