"""A small app with accounts, keys and limits in it, for tests of who gets in and what they are told."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from httpx import ASGITransport, AsyncClient, Response
from litestar import Litestar, Request, asgi, get, post
from litestar.datastructures import State
from litestar.di import NamedDependency, Provide
from litestar.types import Receive, Scope, Send
from sqlalchemy import insert

from moot.model.accounts import Caller
from moot.providers.registry import ProviderConfig, Registry
from moot.server import limits
from moot.server.account_routes import AccountRoutes
from moot.server.auth import OPEN_TO_ALL, Authentication, provide_caller
from moot.server.key_routes import KeyRoutes
from moot.server.limits import Limits, model_calls
from moot.server.problems import HANDLERS
from moot.store.accounts import Accounts
from moot.store.database import Database
from moot.store.keys import ProviderKeys
from moot.store.rates import Rates
from moot.store.schema import account, tenant
from moot.store.sealer import Sealer

PASSWORD = "correct horse"
LAB = ProviderConfig(api="openai", base_url="http://127.0.0.1:9/v1", key_env="LAB_KEY")
BARE = ProviderConfig(api="openai", base_url="http://127.0.0.1:9/v1")


@get("/healthz", opt=OPEN_TO_ALL)
async def healthz() -> str:
    return "well"


@post("/api/ask", guards=[model_calls])
async def ask(caller: NamedDependency[Caller]) -> str:
    return caller.name


@get("/api/whoever", opt=OPEN_TO_ALL)
async def whoever(request: Request[Any, Any, Any]) -> str:
    return str(request.scope.get("user"))


@asgi("/api/events", copy_scope=False)
async def events(scope: Scope, receive: Receive, send: Send) -> None:
    body = scope["user"].name.encode()
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


class House:
    """The app as its visitors find it, and what stands behind it."""

    def __init__(self, database: Database, client: AsyncClient) -> None:
        self.database = database
        self.accounts = Accounts(database)
        self.client = client

    async def log_in(self, name: str = "ada", password: str = PASSWORD) -> Response:
        return await self.client.post("/api/login", json={"name": name, "password": password})

    async def ada(self) -> None:
        """Let Ada in, who has a password."""
        await self.accounts.add("ada", PASSWORD)
        await self.log_in()

    async def bearer(self, name: str) -> dict[str, str]:
        """Make an account that has a token and no password, and return the header that says so."""
        async with self.database.write() as connection:
            await connection.execute(insert(tenant).values(id=name, name=name, created_at=0.0))
            await connection.execute(insert(account).values(id=name, tenant=name, name=name, created_at=0.0))
        caller = Caller(account=name, tenant=name, name=name, kind="local")
        secret, _ = await self.accounts.make_token(caller, "test")
        return {"Authorization": f"Bearer {secret}"}


@asynccontextmanager
async def built(
    database: Database,
    *,
    local: bool = False,
    standard: int = 600,
    model: int = 60,
    login: int = 10,
    environment: Mapping[str, str] | None = None,
    base_url: str = "http://moot.example",
    **configs: ProviderConfig,
) -> AsyncIterator[House]:
    accounts = Accounts(database)
    counted = Limits(Rates(database), standard=standard, model=model, login=login)
    keys = ProviderKeys(database, Sealer("8Zq1vW0nT5yRk3LxPb7cJd9mHs2gFa4u"))
    async with Registry(configs or {"lab": LAB, "bare": BARE}, environment or {}) as registry:
        app = Litestar(
            [AccountRoutes, KeyRoutes, healthz, ask, whoever, events],
            middleware=[Authentication(accounts, await accounts.ensure_local() if local else None)],
            dependencies={
                "caller": provide_caller,
                "accounts": Provide(lambda: accounts, sync_to_thread=False),
                "limits": Provide(lambda: counted, sync_to_thread=False),
                "provider_keys": Provide(lambda: keys, sync_to_thread=False),
                "registry": Provide(lambda: registry, sync_to_thread=False),
            },
            guards=[limits.standard],
            exception_handlers=HANDLERS,
            state=State({"limits": counted}),
        )
        transport = ASGITransport(app=app)  # type: ignore[arg-type]
        async with AsyncClient(transport=transport, base_url=base_url) as client:
            yield House(database, client)
