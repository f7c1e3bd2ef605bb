"""Error handlers: every error becomes an `application/problem+json` response (RFC 9457)."""

import logging
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException
from litestar.types import ExceptionHandlersMap
from msgspec import Struct
from sqlalchemy.exc import IntegrityError

from moot.services.validation_messages import explain_validation_error
from moot.types.errors import (
    Conflict,
    DatabaseUnavailable,
    Forbidden,
    MootError,
    NotFound,
    OverBudget,
    ProviderError,
    RateLimited,
    ShuttingDown,
    Unauthorized,
    UsageError,
)

ERROR_STATUSES: Mapping[type[MootError], tuple[int, str]] = {
    NotFound: (404, "Not found"),
    Unauthorized: (401, "Not signed in"),
    Forbidden: (403, "Forbidden"),
    Conflict: (409, "Conflict"),
    OverBudget: (402, "Over budget"),
    RateLimited: (429, "Too many requests"),
    DatabaseUnavailable: (503, "The database is not available"),
    ShuttingDown: (503, "The server is shutting down"),
    ProviderError: (502, "The provider failed"),
    UsageError: (400, "Bad request"),
}
PROBLEM_MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_SECONDS = 2
STATUS_DETAILS = {
    404: "There is nothing at this address.",
    405: "This path does not support that method. The Allow header lists the supported ones.",
    413: "The body is too large: {limit:,} bytes are the most.",
}

FIELD_PREFIX = re.compile(r"([a-z_]+(?:\[\d+\])?(?:\.[a-z_]+(?:\[\d+\])?)*): (.+)", re.DOTALL)  # of our own messages

log = logging.getLogger(__name__)


class FieldError(Struct, frozen=True):
    field: str  # a path such as `participants[0].model`, or `body` for the whole body
    message: str


class Problem(Struct, frozen=True, omit_defaults=True):
    title: str
    status: int
    detail: str
    errors: tuple[FieldError, ...] = ()
    type: str = "about:blank"


class ProblemResponse(Response[bytes]):
    """Keeps its `Problem`, so that the OpenAI endpoint can encode the error in its own format."""

    def __init__(self, problem: Problem, headers: dict[str, str] | None = None) -> None:
        body = msgspec.json.encode(problem)
        super().__init__(body, status_code=problem.status, media_type=PROBLEM_MEDIA_TYPE, headers=headers)
        self.problem = problem


def handle_moot_error(_: Request[Any, Any, Any], error: MootError) -> ProblemResponse:
    return problem_response(error)


def problem_response(error: MootError) -> ProblemResponse:
    status, title = next(known for kind, known in ERROR_STATUSES.items() if isinstance(error, kind))
    headers: dict[str, str] = {}
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, RateLimited):
        headers["Retry-After"] = str(max(1, round(error.retry_after + 0.5)))
    if status == 503:
        headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    named = FIELD_PREFIX.match(str(error)) if status in {400, 404} else None
    return ProblemResponse(Problem(title, status, str(error), (FieldError(*named.groups()),) if named else ()), headers)


def handle_http_error(request: Request[Any, Any, Any], error: HTTPException) -> ProblemResponse:
    """Handle errors raised by Litestar itself, such as an invalid body or an unknown path."""
    if error.status_code >= 500:
        return handle_unexpected_error(request, error)
    found: list[FieldError] = []
    if isinstance(error, ValidationException) and isinstance(error.extra, list):
        found = [_field_error(request, extra) for extra in error.extra]
    detail = " ".join(f"{one.field}: {one.message}" for one in found) or _http_error_detail(request, error)
    title = HTTPStatus(error.status_code).phrase.capitalize()
    return ProblemResponse(Problem(title, error.status_code, detail, tuple(found)), dict(error.headers or {}))


def _http_error_detail(request: Request[Any, Any, Any], error: HTTPException) -> str:
    if error.status_code == 413:
        return STATUS_DETAILS[413].format(limit=request.route_handler.resolve_request_max_body_size() or 0)
    return STATUS_DETAILS.get(error.status_code, error.detail)


def _field_error(request: Request[Any, Any, Any], extra: Mapping[str, Any]) -> FieldError:
    key, reason = str(extra.get("key") or "data"), str(extra.get("message"))
    if key == "data" and reason == "'data'":  # the request has no body
        return FieldError("body", "There is none: send a JSON object.")
    parameters = request.route_handler.parsed_fn_signature.parameters
    if extra.get("source") == "body" or key == "data":
        path = "" if key == "data" else key
        field, message = explain_validation_error(reason, parameters["data"].annotation, path)
        return FieldError(field or "body", message)
    _, message = explain_validation_error(reason, parameters[key].annotation if key in parameters else Any)
    return FieldError(key.replace("_", "-") if extra.get("source") == "header" else key, message)


def handle_integrity_error(_: Request[Any, Any, Any], __: IntegrityError) -> ProblemResponse:
    """A concurrent request deleted or created a row that this request depends on."""
    return ProblemResponse(
        Problem("Conflict", 409, "This was changed by another request at the same time: load it again.")
    )


def handle_unexpected_error(request: Request[Any, Any, Any], error: Exception) -> ProblemResponse:
    log.error("request failed", exc_info=error, extra={"method": request.method, "path": request.url.path})
    return ProblemResponse(Problem("Internal error", 500, "Internal error in Moot. The server log has the details."))


EXCEPTION_HANDLERS: ExceptionHandlersMap = {
    MootError: handle_moot_error,
    HTTPException: handle_http_error,
    IntegrityError: handle_integrity_error,
    Exception: handle_unexpected_error,
}
