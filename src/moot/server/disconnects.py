"""Cancels work when its client disconnects, and closes a connection from the server."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from litestar import Request
from litestar.exceptions import ClientException

from moot.server.auth import Revocations
from moot.types.accounts import Caller
from moot.types.errors import Forbidden

ABORT_EXTENSION = "moot.hang_up"


def add_abort_extension(scope: Any, send: Any) -> None:
    """Put the word into a scope that comes straight from uvicorn."""
    if (transport := getattr(getattr(send, "__self__", None), "transport", None)) is not None:
        scope.setdefault("extensions", {})[ABORT_EXTENSION] = transport.abort


def abort_connection(scope: Any) -> bool:
    """Close the connection, and tell whether that could be done."""
    if abort := scope.get("extensions", {}).get(ABORT_EXTENSION):
        abort()
    return abort is not None


T = TypeVar("T")


async def run_until_disconnect(
    request: Request[Caller, Any, Any], revocations: Revocations, work: Coroutine[None, None, T]
) -> T:
    """Do the work; when whoever asked for it leaves, or may not ask any more, end it at once."""
    doing = asyncio.create_task(work)
    leaving = asyncio.create_task(_wait_for_disconnect(request))
    try:
        with revocations.watch_credential(request.user, doing.cancel):
            await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if doing.cancelled():
            raise Forbidden(
                "These credentials ended while the work was done: log in again.", login_required=True
            )
        if doing.done():
            return doing.result()
        raise ClientException("Whoever asked has left.")
    finally:
        for task in (doing, leaving):
            task.cancel()
        await asyncio.gather(doing, leaving, return_exceptions=True)


async def _wait_for_disconnect(request: Request[Any, Any, Any]) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
