"""Requests: common parameters, bodies with a read timeout, and work that ends when its client disconnects.

NUL characters are removed from bodies, because PostgreSQL cannot store them.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Annotated, Any, TypeVar

from litestar import Request
from litestar.exceptions import ClientException, InternalServerException, SerializationException
from litestar.handlers import BaseRouteHandler
from litestar.params import HeaderParameter, QueryParameter
from litestar.status_codes import HTTP_408_REQUEST_TIMEOUT, HTTP_415_UNSUPPORTED_MEDIA_TYPE
from litestar.types import Receive

from moot.server.auth import Connection, Revocations
from moot.streaming.cancellation import cancel_tasks
from moot.types.accounts import Caller
from moot.types.errors import NotFound, Unauthorized, UsageError
from moot.types.primitives import PAGE_CURSOR_PATTERN

ESCAPED_NUL = rb"\u0000"
BODY_SECONDS = 30.0

T = TypeVar("T")

IdempotencyKey = Annotated[
    str | None,
    HeaderParameter(
        name="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="A repeated request with the same key returns the first response",
    ),
]
PageLimit = Annotated[int, QueryParameter(ge=1, le=100)]
PageCursor = Annotated[
    str | None,
    QueryParameter(max_length=200, pattern=PAGE_CURSOR_PATTERN, description="The `next` field of the previous page"),
]


@asynccontextmanager
async def limit_body_time(seconds: float) -> AsyncIterator[None]:
    """Raise `ClientException` with status 408 after the timeout, and 400 if the client disconnects."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise ClientException(
            f"The body did not arrive within {seconds:g} seconds.",
            status_code=HTTP_408_REQUEST_TIMEOUT,
            headers={"Connection": "close"},  # do not read the rest of the body
        ) from error
    except InternalServerException as error:  # raised by Litestar when the client disconnects
        raise ClientException("The body was cut off.") from error


class JsonRequest(Request[Any, Any, Any]):
    async def body(self) -> bytes:
        async with limit_body_time(BODY_SECONDS):
            return await super().body()

    async def json(self) -> Any:
        """Remove NUL characters from all strings. Raises `UsageError` if the body is not valid JSON."""
        if self.content_type[0] != "application/json":
            raise ClientException(
                "Send the body as JSON, with the header Content-Type: application/json.",
                status_code=HTTP_415_UNSUPPORTED_MEDIA_TYPE,
            )
        try:
            decoded = await super().json()
        except SerializationException as error:
            raise UsageError(f"body: it is not JSON: {error.detail}") from error
        except UnicodeDecodeError as error:
            raise UsageError("body: it is not UTF-8.") from error
        except RecursionError as error:
            raise UsageError("body: it is nested too deeply.") from error
        return strip_nul(decoded) if ESCAPED_NUL in await self.body() else decoded


def strip_nul(value: Any) -> Any:
    match value:
        case str():
            return value.replace("\0", "")
        case list():
            return [strip_nul(item) for item in value]
        case dict():
            return {strip_nul(name): strip_nul(item) for name, item in value.items()}
        case _:
            return value


async def reject_nul(connection: Connection, _: BaseRouteHandler) -> None:
    """Guard of every route: a database query with a NUL character would fail."""
    if "\0" in connection.scope["path"]:
        raise NotFound("Not found. An id cannot contain a NUL character.")
    if b"%00" in connection.scope["query_string"]:
        raise UsageError("The query string contains a NUL character. Remove it.")


async def reject_if_draining(connection: Connection, _: BaseRouteHandler) -> None:
    """Guard of routes that call models outside of a run: this process is about to exit."""
    connection.app.state["discussion_service"].reject_if_draining()


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
