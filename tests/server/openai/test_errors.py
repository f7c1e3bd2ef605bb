from typing import Any

import msgspec
import pytest
from litestar import Request

from moot.server.errors import handle_moot_error
from moot.server.openai.errors import wrap_error_handler
from moot.types.errors import (
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
from moot.types.faults import make_fault
from tests.server.asgi_client import http_scope


def request_to(path: str) -> Request[Any, Any, Any]:
    return Request(http_scope(path))


@pytest.mark.parametrize(
    ("error", "status", "kind", "code"),
    [
        (UsageError("n: a table cannot do that: leave it out."), 400, "invalid_request_error", None),
        (Unauthorized("Log in."), 401, "authentication_error", "invalid_api_key"),
        (OverBudget("Spent."), 402, "insufficient_quota", "insufficient_quota"),
        (Forbidden("No."), 403, "permission_error", None),
        (NotFound("model: none."), 404, "invalid_request_error", "model_not_found"),
        (NotFound("discussion: none."), 404, "invalid_request_error", None),
        (RateLimited("Later.", 2.2), 429, "rate_limit_error", "rate_limit_exceeded"),
        (ProviderError(make_fault("auth", "Out.")), 502, "server_error", None),
        (ShuttingDown("Bye."), 503, "server_error", None),
    ],
)
def test_errors_are_encoded_in_openai_format_with_status(
    error: MootError, status: int, kind: str, code: str | None
) -> None:
    response = wrap_error_handler(handle_moot_error)(request_to("/v1/chat/completions"), error)
    body = msgspec.json.decode(response.content)
    assert (response.status_code, list(body)) == (status, ["error"])
    assert body["error"].items() >= {"message": str(error), "type": kind, "code": code}.items()
    assert body["error"]["param"] == (str(error).partition(":")[0] if ":" in str(error) else None)
    assert ("Retry-After" in response.headers) == (status in {429, 503})


def test_provider_error_disables_client_retry() -> None:
    response = wrap_error_handler(handle_moot_error)(
        request_to("/v1/chat/completions"), ProviderError(make_fault("auth", "Out."))
    )
    assert response.headers["x-should-retry"] == "false"


def test_errors_outside_openai_paths_keep_problem_format() -> None:
    response = wrap_error_handler(handle_moot_error)(request_to("/api/models"), UsageError("No."))
    assert msgspec.json.decode(response.content)["title"] == "Bad request"
