"""Logging in and out, who one is, and API tokens. There is no sign-up: accounts are made with `moot user add`."""

from collections.abc import Sequence
from typing import Annotated, Any

from litestar import Controller, Request, Response, delete, get, post
from litestar.di import NamedDependency as Given
from litestar.params import FromPath, JSONBody
from msgspec import Meta, Struct

from moot.server.auth import OPEN_TO_ALL, session_cookie
from moot.server.rate_limits import RateLimits, client_address
from moot.store.accounts.accounts import Accounts
from moot.types.accounts import MAX_NAME_LENGTH, MAX_PASSWORD_LENGTH, Caller, CredentialKind, Token
from moot.types.errors import Forbidden
from moot.types.primitives import Name


class Login(Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=MAX_NAME_LENGTH)]
    password: Annotated[str, Meta(min_length=1, max_length=MAX_PASSWORD_LENGTH)]

    def __repr__(self) -> str:
        return f"Login({self.name!r}, [password])"


class NewToken(Struct, frozen=True, forbid_unknown_fields=True):
    name: Name


class Me(Struct, frozen=True, kw_only=True):
    """`kind` says how one is known here: as the user of this machine, by a session, or by a token."""

    account: str
    tenant: str
    name: str
    kind: CredentialKind


class TokenWithSecret(Struct, frozen=True, kw_only=True):
    """The one time that a token's secret is shown."""

    id: str
    name: str
    created_at: float
    secret: str

    def __repr__(self) -> str:
        return f"MadeToken({self.id!r}, [secret])"


class AccountRoutes(Controller):
    path = "/api"
    tags = ("accounts",)

    @post("/login", status_code=200, opt=OPEN_TO_ALL, summary="Begin a session, kept in a cookie")
    async def log_in(
        self,
        data: JSONBody[Login],
        request: Request[Any, Any, Any],
        accounts: Given[Accounts],
        rate_limits: Given[RateLimits],
    ) -> Response[Me]:
        await rate_limits.count_login(data.name, client_address(request))
        secret, caller = await accounts.login(data.name, data.password)
        return Response(_describe_caller(caller), cookies=[session_cookie(request, secret)])

    @post("/logout", status_code=204, summary="End this session")
    async def log_out(
        self, request: Request[Any, Any, Any], caller: Given[Caller], accounts: Given[Accounts]
    ) -> Response[None]:
        await accounts.logout(caller)
        return Response(None, cookies=[session_cookie(request, None)])

    @get("/me", summary="Say who is calling")
    async def get_current_account(self, caller: Given[Caller]) -> Me:
        return _describe_caller(caller)

    @get("/tokens", summary="List this account's API tokens")
    async def list_tokens(self, caller: Given[Caller], accounts: Given[Accounts]) -> Sequence[Token]:
        return await accounts.list_tokens(caller.account)

    @post("/tokens", summary="Make an API token; its secret is shown this once")
    async def create_token(
        self, data: JSONBody[NewToken], caller: Given[Caller], accounts: Given[Accounts]
    ) -> TokenWithSecret:
        """Only whoever logged in makes tokens: one that leaks must not outlive its deletion in another."""
        if caller.kind == "token":
            raise Forbidden("A token makes no tokens: log in with your password to make one.")
        secret, made = await accounts.create_token(caller, data.name)
        return TokenWithSecret(id=made.id, name=made.name, created_at=made.created_at, secret=secret)

    @delete("/tokens/{id:str}", summary="Delete an API token; what it was used for ends at once")
    async def delete_token(self, id: FromPath[str], caller: Given[Caller], accounts: Given[Accounts]) -> None:
        await accounts.delete_token(caller.account, id)


def _describe_caller(caller: Caller) -> Me:
    return Me(account=caller.account, tenant=caller.tenant, name=caller.name, kind=caller.kind)
