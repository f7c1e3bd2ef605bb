"""Error responses in OpenAI's format, for paths under `/v1/`."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from litestar import MediaType, Request, Response

from moot.server.errors import Problem, ProblemResponse
from moot.server.openai.schemas import OpenAiError, OpenAiErrorResponse

OPENAI_PREFIX = "/v1/"
NO_RETRY_HEADERS = {"x-should-retry": "false"}  # OpenAI's SDK retries by default, and each retry costs money
# Type and code by HTTP status; see `encode_openai_error` for the default.
ERROR_TYPES: Mapping[int, tuple[str, str | None]] = {
    401: ("authentication_error", "invalid_api_key"),
    402: ("insufficient_quota", "insufficient_quota"),
    403: ("permission_error", None),
    429: ("rate_limit_error", "rate_limit_exceeded"),
}

ErrorHandler = Callable[[Request[Any, Any, Any], Any], Response[Any]]


def is_openai_path(path: str) -> bool:
    return path.startswith(OPENAI_PREFIX)


def wrap_error_handler(handler: ErrorHandler) -> ErrorHandler:
    """Wrap a handler so that its problem responses have OpenAI's format on OpenAI paths."""

    def handle_error(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
        response = handler(request, error)
        if not (isinstance(response, ProblemResponse) and is_openai_path(request.scope["path"])):
            return response
        headers = {**response.headers, **(NO_RETRY_HEADERS if response.problem.status == 502 else {})}
        return Response(
            encode_openai_error(response.problem),
            status_code=response.problem.status,
            media_type=MediaType.JSON,
            headers=headers,
        )

    return handle_error


def encode_openai_error(problem: Problem) -> bytes:
    param = problem.errors[0].field if problem.errors else None
    default_type = "server_error" if problem.status >= 500 else "invalid_request_error"
    kind, code = ERROR_TYPES.get(problem.status, (default_type, None))
    if (problem.status, param) == (404, "model"):
        code = "model_not_found"
    error = OpenAiError(message=problem.detail, type=kind, param=param, code=code)
    return msgspec.json.encode(OpenAiErrorResponse(error))
