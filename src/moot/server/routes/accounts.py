"""Routes for login, the current account and API tokens. `moot user add` creates accounts; there is no sign-up."""

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
    account: str
    tenant: str
    name: str
    kind: CredentialKind  # local user, session or API token


class TokenWithSecret(Struct, frozen=True, kw_only=True):
    """Response to the creation of a token."""

    id: str
    name: str
    created_at: float
    secret: str  # only in this response; the database stores a hash

    def __repr__(self) -> str:
        return f"TokenWithSecret({self.id!r}, [secret])"


class AccountRoutes(Controller):
    path = "/api"
    tags = ("accounts",)

    @post("/login", status_code=200, opt=OPEN_TO_ALL, summary="Log in and set a session cookie")
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

    @post("/logout", status_code=204, summary="Log out of this session")
    async def log_out(
        self, request: Request[Any, Any, Any], caller: Given[Caller], accounts: Given[Accounts]
    ) -> Response[None]:
        await accounts.logout(caller)
        return Response(None, cookies=[session_cookie(request, None)])

    @get("/me", summary="Get the current account")
    async def get_current_account(self, caller: Given[Caller]) -> Me:
        return _describe_caller(caller)

    @get("/tokens", summary="List this account's API tokens")
    async def list_tokens(self, caller: Given[Caller], accounts: Given[Accounts]) -> Sequence[Token]:
        return await accounts.list_tokens(caller.account)

    @post("/tokens", summary="Create an API token; only this response contains its secret")
    async def create_token(
        self, data: JSONBody[NewToken], caller: Given[Caller], accounts: Given[Accounts]
    ) -> TokenWithSecret:
        """Returns 403 for an API token: a leaked token must not create another that survives its deletion."""
        if caller.kind == "token":
            raise Forbidden("An API token cannot create another one. Log in with your password.")
        secret, token = await accounts.create_token(caller, data.name)
        return TokenWithSecret(id=token.id, name=token.name, created_at=token.created_at, secret=secret)

    @delete("/tokens/{id:str}", summary="Delete an API token and close its open streams")
    async def delete_token(self, id: FromPath[str], caller: Given[Caller], accounts: Given[Accounts]) -> None:
        await accounts.delete_token(caller.account, id)


def _describe_caller(caller: Caller) -> Me:
    return Me(account=caller.account, tenant=caller.tenant, name=caller.name, kind=caller.kind)
