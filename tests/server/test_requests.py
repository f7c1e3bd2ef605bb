import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from litestar import Litestar, get, post
from litestar.params import FromPath, JSONBody
from litestar.testing import TestClient

from moot.server import requests
from moot.server.errors import EXCEPTION_HANDLERS
from moot.server.requests import JsonRequest, reject_nul, strip_nul
from tests.server.asgi_client import AsgiClient, http_scope

JSON = {"Content-Type": "application/json"}


@post("/echo", status_code=200)
async def echo(data: JSONBody[Any]) -> Any:
    return data


@post("/perhaps", status_code=200)
async def optional_body(data: JSONBody[dict[str, str] | None] = None) -> Any:
    return data


@get("/things/{id:str}")
async def get_thing(id: FromPath[str]) -> str:
    return id


@pytest.fixture
def client() -> Iterator[TestClient[Litestar]]:
    app = Litestar(
        [echo, optional_body, get_thing],
        request_class=JsonRequest,
        guards=[reject_nul],
        exception_handlers=EXCEPTION_HANDLERS,
        logging_config=None,
    )
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON"])
def test_json_body_is_parsed(client: TestClient[Litestar], kind: str) -> None:
    reply = client.post("/echo", content=b'{"a": [1, null, "\\u00e4"]}', headers={"Content-Type": kind})
    assert (reply.status_code, reply.json()) == (200, {"a": [1, None, "ä"]})


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/xml", ""]
)
def test_body_without_json_content_type_is_rejected(client: TestClient[Litestar], kind: str) -> None:
    reply = client.post("/echo", content=b'{"a": 1}', headers={"Content-Type": kind} if kind else {})
    assert reply.status_code == 415
    assert "Content-Type: application/json" in reply.json()["detail"]


@pytest.mark.parametrize(
    "body",
    [b"{", b"nonsense", b'"\\ud800"', b'"\xff"', b"\xfe\xff", b"[" * 900_000, b'{"a":' * 100_000, b"1e999"],
    ids=range(8),
)
def test_invalid_json_body_is_rejected(client: TestClient[Litestar], body: bytes) -> None:
    reply = client.post("/echo", content=body, headers=JSON)
    assert reply.status_code == 400
    assert reply.json()["errors"][0]["field"] == "body"


def test_optional_body_can_be_omitted(client: TestClient[Litestar]) -> None:
    assert client.post("/perhaps").status_code == 200
    assert client.post("/perhaps", content=b"null", headers=JSON).status_code == 200
    assert client.post("/perhaps", content=b'{"a": "b"}', headers=JSON).json() == {"a": "b"}


def test_nul_is_removed_from_all_body_text(client: TestClient[Litestar]) -> None:
    sent = {"a\0": ["b\0c", {"d": "\0"}], "code": "write \\u0000, not NUL", "n": 1}
    reply = client.post("/echo", json=sent)
    assert reply.json() == {"a": ["bc", {"d": ""}], "code": "write \\u0000, not NUL", "n": 1}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(json_values)
def test_strip_nul_removes_only_nul(value: Any) -> None:
    assert "\0" not in str(strip_nul(value))
    if r"\x00" not in repr(value):
        assert strip_nul(value) == value


def test_nul_in_path_returns_404_and_in_query_400(client: TestClient[Litestar]) -> None:
    assert client.get("/things/a%00b").status_code == 404
    assert client.get("/things/a?q=%00").status_code == 400
    assert client.get("/things/a?q=b").text == "a"


async def test_interrupted_body_returns_400_without_log(caplog: pytest.LogCaptureFixture) -> None:
    app = Litestar([echo], request_class=JsonRequest, exception_handlers=EXCEPTION_HANDLERS, logging_config=None)
    messages = iter([{"type": "http.request", "body": b'{"a', "more_body": True}, {"type": "http.disconnect"}])
    client = AsgiClient()

    async def receive() -> Any:
        return next(messages)

    scope = http_scope("/echo") | {"method": "POST", "headers": [(b"content-type", b"application/json")]}
    await app(scope, receive, client.send)
    assert client.status == 400
    assert caplog.records == []


async def test_missing_body_data_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "BODY_SECONDS", 0.01)
    app = Litestar([echo], request_class=JsonRequest, exception_handlers=EXCEPTION_HANDLERS, logging_config=None)
    messages = [{"type": "http.request", "body": b'{"a', "more_body": True}]
    client = AsgiClient()

    async def receive() -> Any:
        return messages.pop() if messages else await asyncio.Event().wait()

    scope = http_scope("/echo") | {"method": "POST", "headers": [(b"content-type", b"application/json")]}
    async with asyncio.timeout(60):
        await app(scope, receive, client.send)
    assert client.status == 408
    assert b"did not arrive within" in b"".join(client.received_bodies)
