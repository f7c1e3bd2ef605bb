"""Errors in the shape that OpenAI clients expect, wherever the address is one of theirs."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from litestar import MediaType, Request, Response

from moot.server.errors import Problem, ProblemResponse
from moot.server.openai.schemas import OpenAiError, OpenAiErrorResponse

OPENAI_PREFIX = "/v1/"
NO_RETRY_HEADERS = {"x-should-retry": "false"}  # the SDK would ask, and pay, again by itself
ERROR_TYPES: Mapping[
    int, tuple[str, str | None]
] = {  # type and code, by status; all others ask for another request
    401: ("authentication_error", "invalid_api_key"),
    402: ("insufficient_quota", "insufficient_quota"),
    403: ("permission_error", None),
    429: ("rate_limit_error", "rate_limit_exceeded"),
}

ErrorHandler = Callable[[Request[Any, Any, Any], Any], Response[Any]]


def is_openai_path(path: str) -> bool:
    return path.startswith(OPENAI_PREFIX)


def wrap_error_handler(handler: ErrorHandler) -> ErrorHandler:
    """Let what a handler says be said to OpenAI clients in their shape."""

    def handle_error(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
        told = handler(request, error)
        if not (isinstance(told, ProblemResponse) and is_openai_path(request.scope["path"])):
            return told
        headers = {**told.headers, **(NO_RETRY_HEADERS if told.problem.status == 502 else {})}
        return Response(
            encode_openai_error(told.problem),
            status_code=told.problem.status,
            media_type=MediaType.JSON,
            headers=headers,
        )

    return handle_error


def encode_openai_error(problem: Problem) -> bytes:
    return msgspec.json.encode(OpenAiErrorResponse(_openai_error(problem)))


def _openai_error(problem: Problem) -> OpenAiError:
    param = problem.errors[0].field if problem.errors else None
    usual = "server_error" if problem.status >= 500 else "invalid_request_error"
    kind, code = ERROR_TYPES.get(problem.status, (usual, None))
    if (problem.status, param) == (404, "model"):
        code = "model_not_found"
    return OpenAiError(message=problem.detail, type=kind, param=param, code=code)
