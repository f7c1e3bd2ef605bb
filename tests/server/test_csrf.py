import re

import httpx
import pytest
from litestar.types import Receive, Scope, Send

from moot.server.csrf import SameOriginMiddleware
from moot.settings import Settings

CROSS_SITE = {"Sec-Fetch-Site": "cross-site"}
SAME_SITE = {"Sec-Fetch-Site": "same-site"}
NAVIGATION = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
ACCEPT_STREAM = {"Accept": "text/event-stream"}


async def ok_app(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"welcome", "more_body": False})


async def response_status(
    method: str,
    headers: dict[str, str],
    *,
    host: str = "moot.example",
    loopback: bool = False,
    allowed_hosts: frozenset[str] = frozenset(),
) -> int:
    middleware = SameOriginMiddleware(ok_app, loopback=loopback, allowed_hosts=allowed_hosts)
    transport = httpx.ASGITransport(app=middleware)  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport, base_url="http://moot.example") as client:
        return (await client.request(method, "/api/x", headers={"Host": host, **headers})).status_code


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize(
    "headers",
    [
        {},
        ACCEPT_STREAM,
        {"Sec-Fetch-Site": "same-origin", "Origin": "https://moot.example"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "http://MOOT.example"},
    ],
    ids=str,
)
async def test_same_origin_and_non_browser_requests_are_accepted(method: str, headers: dict[str, str]) -> None:
    assert await response_status(method, headers) == 200


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
@pytest.mark.parametrize(
    "headers",
    [
        CROSS_SITE,
        SAME_SITE,
        CROSS_SITE | ACCEPT_STREAM,
        SAME_SITE | ACCEPT_STREAM,
        {"Origin": "https://evil.example"} | ACCEPT_STREAM,
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://moot.example:8443"},
        {"Origin": "https://moot.example.evil.example"},
        {"Origin": "http://[bad"},
        CROSS_SITE | {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
        CROSS_SITE | {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    ],
    ids=str,
)
async def test_cross_site_requests_are_rejected(method: str, headers: dict[str, str]) -> None:
    assert await response_status(method, headers) == 403


async def test_cross_site_navigation_is_accepted_only_for_get() -> None:
    assert await response_status("GET", CROSS_SITE | NAVIGATION) == 200
    assert await response_status("POST", CROSS_SITE | NAVIGATION) == 403


async def test_origin_with_other_port_is_rejected() -> None:
    assert await response_status("POST", {"Origin": "http://localhost:8000"}, host="localhost:8000") == 200
    assert await response_status("POST", {"Origin": "http://localhost:3000"}, host="localhost:8000") == 403


async def test_origin_must_be_allowed_host_when_proxy_changes_host() -> None:
    origin = {"Origin": "https://moot.example"}
    assert await response_status("POST", origin, host="10.0.0.5:8000") == 403
    for named in ("moot.example", "Moot.Example", "moot.example:443"):
        assert await response_status("POST", origin, host="10.0.0.5:8000", allowed_hosts=frozenset({named})) == 200


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8000",
        "LOCALHOST:1",
        "127.0.0.1:8000",
        "127.0.0.2",
        "127.1.2.3:8000",
        "[::1]",
        "[::1]:8000",
        "[0:0:0:0:0:0:0:1]",
        "moot.home",
        "MOOT.home:8000",
    ],
)
@pytest.mark.parametrize("named", ["moot.home", "Moot.Home", "moot.home:8642"])
async def test_loopback_accepts_local_and_allowed_hosts(host: str, named: str) -> None:
    assert await response_status("GET", {}, host=host, loopback=True, allowed_hosts=frozenset({named})) == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "10.0.0.5",
        "",
        "[::1",
        "a@b",
    ],
)
async def test_loopback_rejects_foreign_hosts(host: str) -> None:
    for hosts in (frozenset[str](), frozenset({""})):
        assert await response_status("GET", {}, host=host, loopback=True, allowed_hosts=hosts) == 403
        assert await response_status("GET", NAVIGATION, host=host, loopback=True, allowed_hosts=hosts) == 403


@pytest.mark.parametrize("named", ["fd00::5", "FD00::5", "[fd00::5]", "[fd00::5]:8642"])
async def test_ipv6_address_can_be_allowed_host(named: str) -> None:
    hosts = frozenset({named})
    assert await response_status("GET", {}, host="[fd00::5]:8000", loopback=True, allowed_hosts=hosts) == 200
    assert await response_status("GET", {}, host="[fd00::6]:8000", loopback=True, allowed_hosts=hosts) == 403
    assert await response_status("GET", {}, host="fd00", loopback=True, allowed_hosts=hosts) == 403


async def test_rejection_is_problem_with_reason() -> None:
    middleware = SameOriginMiddleware(ok_app, loopback=True)
    transport = httpx.ASGITransport(app=middleware)  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport, base_url="http://evil.example") as client:
        reply = await client.get("/")
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json()["status"] == 403
    assert "localhost" in reply.json()["detail"]
    named_settings = re.findall(r"`(\w+)`", reply.json()["detail"])
    assert [name for name in named_settings if name in Settings.__struct_fields__] == named_settings != []


async def test_rejection_on_openai_path_has_openai_format() -> None:
    transport = httpx.ASGITransport(app=SameOriginMiddleware(ok_app, loopback=True))  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport, base_url="http://evil.example") as client:
        reply = await client.get("/v1/models")
    assert (reply.status_code, reply.headers["content-type"]) == (403, "application/json")
    assert "localhost" in reply.json()["error"]["message"]
