import logging
from collections.abc import Iterator
from typing import Any

import pytest
from litestar import Litestar, get, post
from litestar.exceptions import InternalServerException
from litestar.params import FromPath, FromQuery, JSONBody
from litestar.testing import TestClient
from msgspec import Struct
from sqlalchemy.exc import IntegrityError

from moot.server.errors import ERROR_STATUSES, EXCEPTION_HANDLERS
from moot.types.errors import (
    BadSettings,
    Conflict,
    DatabaseUnavailable,
    FeatureUnavailable,
    Forbidden,
    MissingKey,
    MootError,
    NotFound,
    OverBudget,
    ProviderError,
    RateLimited,
    ServerUnreachable,
    ShuttingDown,
    Unauthorized,
    UnknownModel,
    UsageError,
)
from moot.types.faults import make_fault

ERRORS: dict[str, tuple[Exception, int, str]] = {
    "not-found": (NotFound("There is no run."), 404, "Not found"),
    "refused": (Forbidden("Not this one."), 403, "Forbidden"),
    "not-logged-in": (Unauthorized("Log in."), 401, "Not signed in"),
    "conflict": (Conflict("Taken."), 409, "Conflict"),
    "budget": (OverBudget("Too dear."), 402, "Over budget"),
    "busy": (RateLimited("Later.", retry_after=2.2), 429, "Too many requests"),
    "store": (DatabaseUnavailable("Away."), 503, "The database is not available"),
    "leaving": (ShuttingDown("Bye."), 503, "The server is shutting down"),
    "provider": (ProviderError(make_fault("overloaded", "It is overloaded.")), 502, "The provider failed"),
    "usage": (UsageError("It cannot be done."), 400, "Bad request"),
    "model": (UnknownModel("There is no such model."), 400, "Bad request"),
    "key": (MissingKey("No key."), 400, "Bad request"),
    "settings": (BadSettings("Not right."), 400, "Bad request"),
    "unavailable": (FeatureUnavailable("Not installed."), 400, "Bad request"),
}


class Inner(Struct, forbid_unknown_fields=True):
    size: int


class Body(Struct, forbid_unknown_fields=True):
    name: str
    inner: Inner | None = None


@get("/raise/{name:str}")
async def raise_error(name: FromPath[str]) -> str:
    raise ERRORS[name][0]


@get("/mistake")
async def raise_unexpected_error() -> str:
    raise RuntimeError("a secret of ours")


@get("/litestar")
async def raise_litestar_error() -> str:
    raise InternalServerException("a secret of ours")


@get("/meanwhile")
async def raise_integrity_error() -> str:
    raise IntegrityError("INSERT", {"content": "a secret"}, Exception("FOREIGN KEY"))


@get("/field")
async def raise_field_error(words: FromQuery[str]) -> str:
    raise UsageError(words)


@post("/take")
async def accept_body(data: JSONBody[Body]) -> str:
    return data.name


@pytest.fixture
def client() -> Iterator[TestClient[Litestar]]:
    app = Litestar(
        [
            raise_error,
            raise_unexpected_error,
            raise_litestar_error,
            raise_integrity_error,
            raise_field_error,
            accept_body,
        ],
        exception_handlers=EXCEPTION_HANDLERS,
        logging_config=None,
    )
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


def error_subclasses(root: type[MootError]) -> Iterator[type[MootError]]:
    for kind in root.__subclasses__():
        yield kind
        yield from error_subclasses(kind)


def test_every_error_class_has_status() -> None:
    for kind in {*error_subclasses(MootError)} - {ServerUnreachable}:  # only clients raise it
        assert any(issubclass(kind, known) for known in ERROR_STATUSES), kind


@pytest.mark.parametrize("name", ERRORS)
def test_error_is_returned_as_problem_with_its_message(client: TestClient[Litestar], name: str) -> None:
    error, status, title = ERRORS[name]
    reply = client.get(f"/raise/{name}")
    assert reply.headers["Content-Type"] == "application/problem+json"
    assert (reply.status_code, reply.json()) == (
        status,
        {"title": title, "status": status, "detail": str(error)},
    )


def test_retryable_errors_have_retry_after_header(client: TestClient[Litestar]) -> None:
    assert client.get("/raise/busy").headers["Retry-After"] == "3"
    assert client.get("/raise/store").headers["Retry-After"] == "2"
    assert client.get("/raise/leaving").headers["Retry-After"] == "2"
    assert client.get("/raise/not-logged-in").headers["WWW-Authenticate"] == "Bearer"
    assert "Retry-After" not in client.get("/raise/conflict").headers


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("title: it is empty.", "title"),
        ("participants[3].model: nobody offers it.", "participants[3].model"),
        ("config.agents[1].model: nobody offers it.", "config.agents[1].model"),
        ("to: name some of alpha, beta.", "to"),
        ("This is about no field: really.", None),
        ("language 'xx': unknown", None),
    ],
)
def test_error_with_field_prefix_names_field(client: TestClient[Litestar], words: str, named: str | None) -> None:
    problem = client.get("/field", params={"words": words}).json()
    assert problem["detail"] == words
    assert [error["field"] for error in problem.get("errors", [])] == ([named] if named else [])


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "name"),
        ({"name": 1}, "name"),
        ({"name": "Ada", "age": 36}, "age"),
        ({"name": "Ada", "inner": {}}, "inner.size"),
        ({"name": "Ada", "inner": {"size": "x"}}, "inner.size"),
        ({"name": "Ada", "inner": {"size": 1, "hue": 2}}, "inner.hue"),
        ([], "body"),
        ("Ada", "body"),
    ],
)
def test_invalid_body_is_rejected_by_field(client: TestClient[Litestar], body: Any, named: str) -> None:
    reply = client.post("/take", json=body)
    (error,) = reply.json()["errors"]
    assert (reply.status_code, error["field"]) == (400, named)
    assert reply.json()["detail"] == f"{named}: {error['message']}"


def test_invalid_body_error_explains_field(client: TestClient[Litestar]) -> None:
    detail = client.post("/take", json={"name": "Ada", "inner": {"size": "x"}}).json()["detail"]
    assert detail == "inner.size: Expected `int`, got `str`."
    detail = client.post("/take", json={"name": "Ada", "inner": {"size": 1, "hue": 2}}).json()["detail"]
    assert detail == "inner.hue: There is no such field; known are size."


def test_too_large_body_error_names_limit(client: TestClient[Litestar]) -> None:
    reply = client.post("/take", json={"name": "x" * 10_000_000})
    assert (reply.status_code, reply.json()["detail"]) == (
        413,
        "The body is too large: 10,000,000 bytes are the most.",
    )


def test_missing_body_error_names_body(client: TestClient[Litestar]) -> None:
    reply = client.post("/take")
    assert reply.json()["errors"] == [{"field": "body", "message": "There is none: send a JSON object."}]


def test_unknown_path_and_method_return_problem(client: TestClient[Litestar]) -> None:
    nothing, other = client.get("/nothing"), client.delete("/take")
    assert (nothing.status_code, nothing.json()["title"]) == (404, "Not found")
    assert (other.status_code, other.json()["title"]) == (405, "Method not allowed")
    assert "POST" in other.headers["Allow"]


def test_integrity_error_returns_conflict_without_details(client: TestClient[Litestar]) -> None:
    reply = client.get("/meanwhile")
    assert reply.status_code == 409
    assert "secret" not in reply.text


@pytest.mark.parametrize("path", ["/mistake", "/litestar"])
def test_unexpected_error_is_logged_and_hidden_from_caller(
    client: TestClient[Litestar], caplog: pytest.LogCaptureFixture, path: str
) -> None:
    with caplog.at_level(logging.ERROR, "moot"):
        reply = client.get(path)
    assert reply.status_code == 500
    assert "secret" not in reply.text
    (record,) = caplog.records
    assert (record.__dict__["method"], record.__dict__["path"]) == ("GET", path)
    assert record.exc_info
