"""Authentication middleware, session cookies and revocation of open streams.

Every request needs a credential, unless its route has `OPEN_TO_ALL`. The middleware stores the caller in
`scope["user"]`.
"""

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
from moot.types.errors import DatabaseUnavailable, Unauthorized

SESSION_COOKIE = "moot_session"
OPEN_TO_ALL = {"open_to_all": True}  # `opt` of a route, router or controller that needs no login

Connection = ASGIConnection[Any, Any, Any, Any]


class Authentication(ASGIMiddleware):
    """Accepts an API token or a session cookie. With a `local_caller`, every request has that caller.

    Rejected requests have their own rate limit per client address.
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
        except Unauthorized:
            self._limits.count_request(f"refused/{client_address(connection)}")
            raise
        await next_app(scope, receive, send)

    async def _authenticate(self, connection: Connection) -> Caller:
        """An invalid token is rejected, even if the request also has a valid session cookie."""
        if (secret := bearer_token(connection)) is not None:
            if caller := await self._accounts.caller_of_token(secret):
                return caller
            raise Unauthorized("This API token is not valid. Create one with POST /api/tokens.")
        if secret := connection.cookies.get(SESSION_COOKIE):
            if caller := await self._accounts.caller_of_session(secret):
                return caller
            raise Unauthorized("This session has ended: log in again with POST /api/login.")
        raise Unauthorized("Log in with POST /api/login, or send an API token as `Authorization: Bearer moot_…`.")


def bearer_token(connection: Connection) -> str | None:
    scheme, _, secret = connection.headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else None


async def _request_caller(request: Request[Caller, Any, Any]) -> Caller:
    return request.user


provide_caller = Provide(_request_caller)


def session_cookie(connection: Connection, secret: str | None) -> Cookie:
    """None as the secret deletes the cookie."""
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
    """Closes streams and requests whose credential was deleted. One query checks all of them, every two seconds."""

    def __init__(self, accounts: Accounts, interval_seconds: float = REVOCATION_CHECK_SECONDS) -> None:
        self._accounts = accounts
        self._interval_seconds = interval_seconds
        self._watches: dict[object, tuple[str, RevocationCallback]] = {}

    @contextmanager
    def watch_credential(self, caller: Caller, on_revoked: RevocationCallback) -> Iterator[None]:
        """Call `on_revoked` at most once, in the event loop, if the credential is deleted inside the block."""
        key = object()
        if caller.kind != "local":
            self._watches[key] = (caller.credential, on_revoked)
        try:
            yield
        finally:
            self._watches.pop(key, None)

    async def check_periodically(self) -> Never:
        while True:
            await asyncio.sleep(self._interval_seconds)
            try:
                await self.check_credentials()
            except DatabaseUnavailable:
                continue  # credentials cannot be deleted while the database is down; the next check catches up

    async def check_credentials(self) -> None:
        watched = list(self._watches.items())  # a copy: streams open and close during the query
        if not watched:
            return
        valid = await self._accounts.valid_credentials({credential for _, (credential, _) in watched})
        for key, (credential, on_revoked) in watched:
            if credential not in valid and self._watches.pop(key, None) is not None:
                on_revoked()
