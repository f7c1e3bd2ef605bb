"""Waiting for conditions, and for notifications of a database."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from moot.store.database import Database, Topic
from moot.store.notify import receive_notifications

WAIT_TIMEOUT_SECONDS = 60.0  # only a test that fails waits this long


async def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until a condition is true. Only a very busy machine needs the whole timeout."""
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while not condition():
            await asyncio.sleep(0.005)


@asynccontextmanager
async def listen_for_notifications(
    database: Database, on_gap: Callable[[], None] = lambda: None
) -> AsyncIterator[None]:
    """Receive the notifications of other connections. SQLite needs no listener."""
    if not database.is_postgres:
        yield
        return
    connected = asyncio.Event()

    def on_connected() -> None:
        connected.set()
        on_gap()

    task = asyncio.create_task(receive_notifications(database, on_connected))
    await asyncio.wait_for(connected.wait(), WAIT_TIMEOUT_SECONDS)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def collect_notifications(database: Database, topic: Topic) -> AsyncIterator[list[str]]:
    """Collect the notifications of a topic, from all connections."""
    received: list[str] = []
    database.subscribe(topic, received.append)
    async with listen_for_notifications(database):
        yield received
