"""Retries while the database is unavailable."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from moot.types.errors import DatabaseUnavailable

FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS = 0.1, 2.0
P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger(__name__)


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
