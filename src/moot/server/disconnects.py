"""Cancels work when its client disconnects, and aborts connections from the server side."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from litestar import Request
from litestar.exceptions import ClientException
from litestar.types import Receive

from moot.server.auth import Revocations
from moot.streaming.cancellation import cancel_tasks
from moot.types.accounts import Caller
from moot.types.errors import Unauthorized

ABORT_EXTENSION = "moot.hang_up"


def add_abort_extension(scope: Any, send: Any) -> None:
    """Store the transport's `abort` in the ASGI scope. Does nothing if `send` is not a method of uvicorn."""
    if (transport := getattr(getattr(send, "__self__", None), "transport", None)) is not None:
        scope.setdefault("extensions", {})[ABORT_EXTENSION] = transport.abort


def abort_connection(scope: Any) -> bool:
    """Return False if the scope has no `abort` callback."""
    if abort := scope.get("extensions", {}).get(ABORT_EXTENSION):
        abort()
    return abort is not None


T = TypeVar("T")


async def run_until_disconnect(
    request: Request[Caller, Any, Any], revocations: Revocations, work: Coroutine[None, None, T]
) -> T:
    """Return the result of `work`. Cancel it when the client disconnects or its credential is deleted.

    Raises `ClientException` after a disconnect and `Unauthorized` after a revocation.
    """
    work_task = asyncio.create_task(work)
    disconnect_task = asyncio.create_task(wait_for_disconnect(request.receive))
    try:
        with revocations.watch_credential(request.user, work_task.cancel):
            await asyncio.wait({work_task, disconnect_task}, return_when=asyncio.FIRST_COMPLETED)
        if work_task.cancelled():  # by the revocation callback
            raise Unauthorized("The credential was deleted during the request: log in again.")
        if work_task.done():
            return work_task.result()
        raise ClientException("The client disconnected.")
    finally:
        await cancel_tasks(work_task, disconnect_task)


async def wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
