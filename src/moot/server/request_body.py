"""Request bodies: read timeout, JSON parsing, and removal of NUL characters, which PostgreSQL cannot store."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.exceptions import ClientException, InternalServerException, SerializationException
from litestar.handlers import BaseRouteHandler
from litestar.status_codes import HTTP_408_REQUEST_TIMEOUT, HTTP_415_UNSUPPORTED_MEDIA_TYPE

from moot.types.errors import NotFound, UsageError

ESCAPED_NUL = rb"\u0000"
BODY_SECONDS = 30.0


@asynccontextmanager
async def limit_body_time(seconds: float) -> AsyncIterator[None]:
    """Raise `ClientException` with status 408 after the timeout, and 400 if the client disconnects."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise ClientException(
            f"The body did not come within {seconds:g} seconds.",
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


async def reject_nul(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
    """Guard of every route: a database query with a NUL character would fail."""
    if "\0" in connection.scope["path"]:
        raise NotFound("Not found. An id cannot contain a NUL character.")
    if b"%00" in connection.scope["query_string"]:
        raise UsageError("The query string contains a NUL character. Remove it.")
