"""CSRF protection: rejects cross-site requests and, on loopback, requests to unknown host names."""

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
    """ASGI middleware. Browsers send `Origin` and `Sec-Fetch-*` headers; clients without these headers pass.

    On loopback, only local names and `allowed_hosts` are accepted. This prevents DNS rebinding: any site can
    point its own host name at 127.0.0.1.
    """

    def __init__(self, app: ASGIApp, *, loopback: bool, allowed_hosts: frozenset[str] = frozenset()) -> None:
        self._app = app
        self._loopback = loopback
        self._allowed_hosts = {_hostname(f"//{_bracket_ipv6(host)}") for host in allowed_hosts} - {""}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.HTTP and (reason := self._rejection_reason(scope)):
            await _send_forbidden(scope, send, reason)
        else:
            await self._app(scope, receive, send)

    def _rejection_reason(self, scope: HTTPScope) -> str | None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "").lower()
        name = _hostname(f"//{host}")
        if self._loopback and name not in self._allowed_hosts and not is_loopback(name):
            return "This server accepts requests to localhost only. Add the host to `allowed_hosts` in the settings."
        if self._is_cross_site(scope["method"], host, headers):
            return "This request comes from another site. Only Moot's own page may send it."
        return None

    def _is_cross_site(self, method: str, host: str, headers: Mapping[str, str]) -> bool:
        if headers.get("sec-fetch-site") in CROSS_SITE_VALUES and not _is_navigation(method, headers):
            return True
        origin = headers.get("origin", "").lower()
        return bool(origin) and origin.partition("://")[2] != host and _hostname(origin) not in self._allowed_hosts


def _is_navigation(method: str, headers: Mapping[str, str]) -> bool:
    """True if the user follows a link. That is the only request another site may start."""
    mode_and_destination = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest"))
    return method == "GET" and mode_and_destination == ("navigate", "document")


def _bracket_ipv6(host: str) -> str:
    """Add brackets, as in a URL, so that `urlsplit` does not parse the end of an IPv6 address as a port."""
    return f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host


def _hostname(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


async def _send_forbidden(scope: HTTPScope, send: Send, detail: str) -> None:
    problem = Problem("Forbidden", 403, detail)
    body, kind = msgspec.json.encode(problem), errors.PROBLEM_MEDIA_TYPE
    if is_openai_path(scope["path"]):
        body, kind = encode_openai_error(problem), MediaType.JSON
    headers = [(b"content-type", kind.encode()), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
