"""Every error as `application/problem+json` (RFC 9457): what happened, in which field, and what to do."""

import logging
from collections.abc import Mapping
from typing import Any

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException
from litestar.types import ExceptionHandlersMap
from msgspec import Struct
from sqlalchemy.exc import IntegrityError

from moot.model.errors import (
    Busy,
    Conflict,
    Leaving,
    MootError,
    NotFound,
    Refused,
    StoreUnavailable,
    UsageError,
)

STATUSES: Mapping[type[MootError], tuple[int, str]] = {
    NotFound: (404, "Not found"),
    Refused: (403, "Refused"),
    Conflict: (409, "Conflict"),
    Busy: (429, "Too many requests"),
    StoreUnavailable: (503, "The database is not available"),
    Leaving: (503, "The server is ending"),
    UsageError: (400, "Bad request"),
}
RETRY_SECONDS = 2

log = logging.getLogger(__name__)


class Fields(Struct, frozen=True):
    field: str
    message: str


class Problem(Struct, frozen=True, omit_defaults=True):
    title: str
    status: int
    detail: str
    errors: tuple[Fields, ...] = ()
    type: str = "about:blank"


def answer(problem: Problem, headers: dict[str, str] | None = None) -> Response[bytes]:
    return Response(
        msgspec.json.encode(problem),
        status_code=problem.status,
        media_type="application/problem+json",
        headers=headers,
    )


def moot_error(_: Request[Any, Any, Any], error: MootError) -> Response[bytes]:
    status, title = next(known for kind, known in STATUSES.items() if isinstance(error, kind))
    if isinstance(error, Refused) and error.log_in:
        status, title = 401, "Not signed in"
    headers: dict[str, str] = {}
    if isinstance(error, Busy):
        headers["Retry-After"] = str(max(1, round(error.retry_after + 0.5)))
    if status == 503:
        headers["Retry-After"] = str(RETRY_SECONDS)
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return answer(Problem(title, status, str(error)), headers)


def http_error(_: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    """Answer what Litestar itself refuses, such as a body that does not fit or a path that is not there."""
    found: list[Fields] = []
    if isinstance(error, ValidationException) and isinstance(error.extra, list):
        found = [Fields(str(extra.get("key", "")), str(extra.get("message", ""))) for extra in error.extra]
    detail = "; ".join(f"{e.field}: {e.message}" if e.field else e.message for e in found) or error.detail
    title = "Bad request" if error.status_code == 400 else type(error).__name__.removesuffix("Exception")
    return answer(Problem(title, error.status_code, detail, tuple(found)), dict(error.headers or {}))


def changed_meanwhile(_: Request[Any, Any, Any], __: IntegrityError) -> Response[bytes]:
    """What a request builds on was deleted, or made, while it was being done."""
    return answer(
        Problem("Conflict", 409, "This was changed by another request at the same time: load it again.")
    )


def mistake(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    log.error("a request failed", exc_info=error, extra={"method": request.method, "path": request.url.path})
    return answer(Problem("Internal error", 500, "A mistake in Moot itself; the server's log says more."))


HANDLERS: ExceptionHandlersMap = {
    MootError: moot_error,
    HTTPException: http_error,
    IntegrityError: changed_meanwhile,
    Exception: mistake,
}
