"""Work that is only worth doing, and paying, as long as somebody waits for it."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from litestar import Request
from litestar.exceptions import ClientException

T = TypeVar("T")
LEFT = 499  # what proxies log for it; nobody is there to see it


async def while_waited_for(request: Request[Any, Any, Any], work: Coroutine[None, None, T]) -> T:
    """Do the work; when whoever asked for it leaves, end it at once."""
    doing = asyncio.create_task(work)
    leaving = asyncio.create_task(_left(request))
    try:
        await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            return doing.result()
        raise ClientException("Whoever asked has left.", status_code=LEFT)
    finally:
        for task in (doing, leaving):
            task.cancel()
        await asyncio.gather(doing, leaving, return_exceptions=True)


async def _left(request: Request[Any, Any, Any]) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
