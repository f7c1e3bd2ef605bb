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

from moot.server.rate_limits import RateLimits, client_address
from moot.store.accounts.accounts import SESSION_SECONDS, Accounts
from moot.types.accounts import Caller
from moot.types.errors import DatabaseUnavailable, Forbidden

SESSION_COOKIE = "moot_session"
OPEN_TO_ALL = {"open_to_all": True}  # put as `opt` on a route, a router or a controller

Connection = ASGIConnection[Any, Any, Any, Any]


class Authentication(ASGIMiddleware):
    """With a `local` caller every request is theirs; else an API token or a session's cookie must come along.

    Whoever is refused is counted by address, and apart from those who log in from there.
    """

    exclude_opt_key = "open_to_all"

    def __init__(self, accounts: Accounts, limits: RateLimits, local_caller: Caller | None = None) -> None:
        self._accounts = accounts
        self._limits = limits
        self._local_caller = local_caller

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        connection: Connection = ASGIConnection(scope)
        try:
            scope["user"] = self._local_caller or await self._authenticate(connection)
        except Forbidden:
            self._limits.count_request(f"refused/{client_address(connection)}")
            raise
        await next_app(scope, receive, send)

    async def _authenticate(self, connection: Connection) -> Caller:
        """Find out by the token, if there is one: a wrong one is refused, whatever else came along."""
        if (secret := bearer_token(connection)) is not None:
            if caller := await self._accounts.caller_of_token(secret):
                return caller
            raise Forbidden(
                "This API token is not valid: make a new one with POST /api/tokens.", login_required=True
            )
        if secret := connection.cookies.get(SESSION_COOKIE):
            if caller := await self._accounts.caller_of_session(secret):
                return caller
            raise Forbidden("This session is over: log in again with POST /api/login.", login_required=True)
        raise Forbidden(
            "Log in with POST /api/login, or send an API token as `Authorization: Bearer moot_…`.",
            login_required=True,
        )


def bearer_token(connection: Connection) -> str | None:
    scheme, _, secret = connection.headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else None


async def _request_caller(request: Request[Caller, Any, Any]) -> Caller:
    return request.user


provide_caller = Provide(_request_caller)


def session_cookie(connection: Connection, secret: str | None) -> Cookie:
    """Hand the browser its session, or take it away again."""
    return Cookie(
        key=SESSION_COOKIE,
        value=secret or "",
        max_age=SESSION_SECONDS if secret else 0,
        path="/",
        httponly=True,
        samesite="strict",
        secure=connection.scope["scheme"] == "https",
    )


REVOCATION_CHECK_SECONDS = 2.0

RevocationCallback = Callable[[], object]


class Revocations:
    """All open streams are checked together, with one query, every two seconds."""

    def __init__(self, accounts: Accounts, interval_seconds: float = REVOCATION_CHECK_SECONDS) -> None:
        self._accounts = accounts
        self._interval_seconds = interval_seconds
        self._watches: dict[object, tuple[str, RevocationCallback]] = {}

    @contextmanager
    def watch_credential(self, caller: Caller, on_revoked: RevocationCallback) -> Iterator[None]:
        """Call `end`, once and in the loop, if the caller's credential goes while the block is open."""
        place = object()
        if caller.kind != "local":
            self._watches[place] = (caller.credential, on_revoked)
        try:
            yield
        finally:
            self._watches.pop(place, None)

    async def check_periodically(self) -> Never:
        """Check for as long as the server runs."""
        while True:
            await asyncio.sleep(self._interval_seconds)
            try:
                await self.check_credentials()
            except DatabaseUnavailable:
                continue  # nothing could be taken away meanwhile; the next check sees it

    async def check_credentials(self) -> None:
        watched = list(self._watches.items())  # others may come while the database is asked
        if not watched:
            return
        valid = await self._accounts.valid_credentials({credential for _, (credential, _) in watched})
        for place, (credential, end) in watched:
            if credential not in valid and self._watches.pop(place, None) is not None:
                end()
