"""Bounded waits, and retries while the database is unavailable."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from moot.streaming.cancellation import Stop
from moot.types.errors import StoreUnavailable

LEAVING_SECONDS = 1.0  # in which work that is not waited for any more may clear up

T = TypeVar("T")


async def bounded(work: Coroutine[Any, Any, T], seconds: float, stop: Stop) -> T | None:
    """Do some work; None if there was no time for it, or a stop came first."""
    task = asyncio.get_running_loop().create_task(work)
    stopped = asyncio.Event()
    waiting = asyncio.create_task(stopped.wait())
    try:
        with stop.watched(lambda _: stopped.set()):
            await asyncio.wait({task, waiting}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        task.cancel()
        await asyncio.wait({task}, timeout=LEAVING_SECONDS)
        return None
    finally:
        waiting.cancel()
        if not task.done():
            task.cancel()
        task.add_done_callback(_heard)


def _heard(task: "asyncio.Task[Any]") -> None:
    """Take note of how it ended, so that nobody complains that nobody did."""
    if not task.cancelled():
        task.exception()


FIRST_WAIT, LONGEST_WAIT = 0.1, 2.0
log = logging.getLogger(__name__)


async def patiently(ask: Callable[[], Awaitable[T]]) -> T:
    """Ask again until the database answers. What is asked for may have been done already, and is done again."""
    wait = FIRST_WAIT
    while True:
        try:
            return await ask()
        except StoreUnavailable as error:
            log.warning("waiting for the database", extra={"reason": str(error), "seconds": wait})
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)
