"""Who is calling: every request must say so, unless its route is open to all. The caller lands in `scope["user"]`."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Never

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.datastructures import Cookie
from litestar.di import Provide
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send

from moot.server.rate_limits import RateLimits, address
from moot.store.accounts.accounts import SESSION_SECONDS, Accounts
from moot.types.accounts import Caller
from moot.types.errors import Refused, StoreUnavailable

COOKIE = "moot_session"
OPEN_TO_ALL = {"open_to_all": True}  # put as `opt` on a route, a router or a controller

Connection = ASGIConnection[Any, Any, Any, Any]


class Authentication(ASGIMiddleware):
    """With a `local` caller every request is theirs; else an API token or a session's cookie must come along.

    Whoever is refused is counted by address, and apart from those who log in from there.
    """

    exclude_opt_key = "open_to_all"

    def __init__(self, accounts: Accounts, limits: RateLimits, local: Caller | None = None) -> None:
        self._accounts = accounts
        self._limits = limits
        self._local = local

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        connection: Connection = ASGIConnection(scope)
        try:
            scope["user"] = self._local or await self._caller(connection)
        except Refused:
            self._limits.call(f"refused/{address(connection)}")
            raise
        await next_app(scope, receive, send)

    async def _caller(self, connection: Connection) -> Caller:
        """Find out by the token, if there is one: a wrong one is refused, whatever else came along."""
        if (secret := bearer(connection)) is not None:
            if caller := await self._accounts.caller_of_token(secret):
                return caller
            raise Refused("This API token is not valid: make a new one with POST /api/tokens.", log_in=True)
        if secret := connection.cookies.get(COOKIE):
            if caller := await self._accounts.caller_of_session(secret):
                return caller
            raise Refused("This session is over: log in again with POST /api/login.", log_in=True)
        raise Refused(
            "Log in with POST /api/login, or send an API token as `Authorization: Bearer moot_…`.",
            log_in=True,
        )


def bearer(connection: Connection) -> str | None:
    scheme, _, secret = connection.headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else None


async def _caller_of_request(request: Request[Caller, Any, Any]) -> Caller:
    return request.user


provide_caller = Provide(_caller_of_request)


def session_cookie(connection: Connection, secret: str | None) -> Cookie:
    """Hand the browser its session, or take it away again."""
    return Cookie(
        key=COOKIE,
        value=secret or "",
        max_age=SESSION_SECONDS if secret else 0,
        path="/",
        httponly=True,
        samesite="strict",
        secure=connection.scope["scheme"] == "https",
    )


SECONDS = 2.0

Ending = Callable[[], object]


class Revocations:
    """All open streams are checked together, with one query, every two seconds."""

    def __init__(self, accounts: Accounts, seconds: float = SECONDS) -> None:
        self._accounts = accounts
        self._seconds = seconds
        self._open: dict[object, tuple[str, Ending]] = {}

    @contextmanager
    def watching(self, caller: Caller, end: Ending) -> Iterator[None]:
        """Call `end`, once and in the loop, if the caller's credential goes while the block is open."""
        place = object()
        if caller.kind != "local":
            self._open[place] = (caller.credential, end)
        try:
            yield
        finally:
            self._open.pop(place, None)

    async def run(self) -> Never:
        """Check for as long as the server runs."""
        while True:
            await asyncio.sleep(self._seconds)
            try:
                await self.check()
            except StoreUnavailable:
                continue  # nothing could be taken away meanwhile; the next check sees it

    async def check(self) -> None:
        watched = list(self._open.items())  # others may come while the database is asked
        if not watched:
            return
        valid = await self._accounts.still_valid({credential for _, (credential, _) in watched})
        for place, (credential, end) in watched:
            if credential not in valid and self._open.pop(place, None) is not None:
                end()
