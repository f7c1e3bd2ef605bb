"""Errors in the shape that OpenAI clients expect, wherever the address is one of theirs."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from litestar import MediaType, Request, Response

from moot.server.errors import Problem, ProblemAnswer
from moot.server.openai.schemas import Failure, Trouble

PREFIX = "/v1/"
DONT_RETRY = {"x-should-retry": "false"}  # the SDK would ask, and pay, again by itself
KINDS: Mapping[
    int, tuple[str, str | None]
] = {  # type and code, by status; all others ask for another request
    401: ("authentication_error", "invalid_api_key"),
    402: ("insufficient_quota", "insufficient_quota"),
    403: ("permission_error", None),
    429: ("rate_limit_error", "rate_limit_exceeded"),
}

Handler = Callable[[Request[Any, Any, Any], Any], Response[Any]]


def is_face(path: str) -> bool:
    return path.startswith(PREFIX)


def faced(handler: Handler) -> Handler:
    """Let what a handler says be said to OpenAI clients in their shape."""

    def answer(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
        told = handler(request, error)
        if not (isinstance(told, ProblemAnswer) and is_face(request.scope["path"])):
            return told
        headers = {**told.headers, **(DONT_RETRY if told.problem.status == 502 else {})}
        return Response(
            shaped(told.problem), status_code=told.problem.status, media_type=MediaType.JSON, headers=headers
        )

    return answer


def shaped(problem: Problem) -> bytes:
    return msgspec.json.encode(Failure(_trouble(problem)))


def _trouble(problem: Problem) -> Trouble:
    param = problem.errors[0].field if problem.errors else None
    usual = "server_error" if problem.status >= 500 else "invalid_request_error"
    kind, code = KINDS.get(problem.status, (usual, None))
    if (problem.status, param) == (404, "model"):
        code = "model_not_found"
    return Trouble(message=problem.detail, type=kind, param=param, code=code)
