"""Keeping other sites out: a page elsewhere must not post here, read streams, or reach us under a name of its own."""

from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec
from litestar.enums import MediaType, ScopeType
from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

from moot.server import errors
from moot.server.errors import Problem
from moot.server.openai.errors import encode_openai_error, is_openai_path
from moot.types.primitives import is_loopback

CROSS_SITE_VALUES = frozenset({"cross-site", "same-site"})


class SameOriginMiddleware:
    """An ASGI app around another. Browsers say where a call comes from; programs do not, and pass.

    On loopback only this machine's names and `hosts` are answered to: any site may let its own name point here.
    """

    def __init__(self, app: ASGIApp, *, loopback: bool, allowed_hosts: frozenset[str] = frozenset()) -> None:
        self._app = app
        self._loopback = loopback
        self._allowed_hosts = {_hostname(f"//{_bracket_ipv6(host)}") for host in allowed_hosts} - {""}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.HTTP and (words := self._rejection_reason(scope)):
            await _send_forbidden(scope, send, words)
        else:
            await self._app(scope, receive, send)

    def _rejection_reason(self, scope: HTTPScope) -> str | None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "").lower()
        if self._loopback and not self._is_allowed_host(_hostname(f"//{host}")):
            return "This server answers to localhost only: add the name you use to the hosts of its settings."
        if self._is_cross_site(scope["method"], host, headers):
            return "This call comes from another site, and only Moot's own page may make it."
        return None

    def _is_allowed_host(self, name: str) -> bool:
        return name in self._allowed_hosts or is_loopback(name)

    def _is_cross_site(self, method: str, host: str, headers: Mapping[str, str]) -> bool:
        if headers.get("sec-fetch-site") in CROSS_SITE_VALUES and not _is_navigation(method, headers):
            return True
        origin = headers.get("origin", "").lower()
        return (
            bool(origin)
            and origin.partition("://")[2] != host
            and _hostname(origin) not in self._allowed_hosts
        )


def _is_navigation(method: str, headers: Mapping[str, str]) -> bool:
    """Tell whether somebody follows a link to us: that is the one thing another site may begin."""
    opens = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest"))
    return method == "GET" and opens == ("navigate", "document")


def _bracket_ipv6(host: str) -> str:
    """Write an address of IPv6 as in a URL, so that no part of it is taken for a port."""
    return f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host


def _hostname(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


async def _send_forbidden(scope: HTTPScope, send: Send, detail: str) -> None:
    problem = Problem("Refused", 403, detail)
    body, kind = msgspec.json.encode(problem), errors.PROBLEM_MEDIA_TYPE
    if is_openai_path(scope["path"]):
        body, kind = encode_openai_error(problem), MediaType.JSON
    headers = [(b"content-type", kind.encode()), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
