"""Patience with the database: what is going on waits while it is away, and goes on when it is back."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from moot.model.errors import StoreUnavailable

FIRST_WAIT, LONGEST_WAIT = 0.1, 2.0

T = TypeVar("T")
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
