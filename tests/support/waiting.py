"""Hearing what is told through a database, and waiting for what must come."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from moot.store.database import Database, Topic
from moot.store.notify import receive_notifications

WAIT_TIMEOUT_SECONDS = 60.0  # whoever waits in vain waits long, and nobody else does


async def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for what must come about; the time is only for machines that are very busy."""
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while not condition():
            await asyncio.sleep(0.005)


@asynccontextmanager
async def listen_for_notifications(
    database: Database, on_gap: Callable[[], None] = lambda: None
) -> AsyncIterator[None]:
    """Let a database hear what is told from elsewhere; a file of SQLite hears by itself."""
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
    """Collect what is told of a topic, wherever it is told."""
    heard: list[str] = []
    database.subscribe(topic, heard.append)
    async with listen_for_notifications(database):
        yield heard
