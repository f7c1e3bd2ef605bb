"""Hearing what is told through a database, and waiting for what must come."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from moot.store.database import Database, Topic
from moot.store.notify import receive_notifications

SECONDS = 60.0  # whoever waits in vain waits long, and nobody else does


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait for what must come about; the time is only for machines that are very busy."""
    async with asyncio.timeout(SECONDS):
        while not condition():
            await asyncio.sleep(0.005)


@asynccontextmanager
async def listening(database: Database, missed: Callable[[], None] = lambda: None) -> AsyncIterator[None]:
    """Let a database hear what is told from elsewhere; a file of SQLite hears by itself."""
    if not database.is_postgres:
        yield
        return
    connected = asyncio.Event()

    def again() -> None:
        connected.set()
        missed()

    task = asyncio.create_task(receive_notifications(database, again))
    await asyncio.wait_for(connected.wait(), SECONDS)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def hearing(database: Database, topic: Topic) -> AsyncIterator[list[str]]:
    """Collect what is told of a topic, wherever it is told."""
    heard: list[str] = []
    database.subscribe(topic, heard.append)
    async with listening(database):
        yield heard
