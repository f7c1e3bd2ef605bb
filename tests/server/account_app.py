"""The whole application with accounts, for tests of authentication and its errors."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from copy import copy

from httpx import ASGITransport, AsyncClient, Response
from litestar import Litestar
from sqlalchemy import insert

from moot.providers.catalog import ProviderConfig
from moot.providers.registry import Registry
from moot.server.rate_limits import RateLimits
from moot.settings import RateSettings
from moot.store.accounts.accounts import Accounts
from moot.store.database import Database
from moot.store.rate_limits import RateLimiter
from moot.store.schema.accounts import account, tenant
from moot.types.accounts import Caller
from tests.support.app_fixture import build_idle_worker
from tests.support.app_pool import pooled_app_factory

PASSWORD = "correct horse"
KEYED_PROVIDER = ProviderConfig(api="openai", base_url="http://127.0.0.1:9/v1", key_env="LAB_KEY")
KEYLESS_PROVIDER = ProviderConfig(api="openai", base_url="http://127.0.0.1:9/v1")
QUESTION = {"message": "What is a moot?", "participants": ["scripted/echo"]}


class AccountApp:
    """The app, a client of it and its database."""

    def __init__(self, database: Database, app: Litestar, client: AsyncClient) -> None:
        self.database = database
        self.accounts = Accounts(database)
        self.app = app
        self.client = client

    async def log_in(self, name: str = "ada", password: str = PASSWORD) -> Response:
        return await self.client.post("/api/login", json={"name": name, "password": password})

    async def log_in_ada(self) -> None:
        """Create the account ada and log it in."""
        await self.accounts.create_account("ada", PASSWORD)
        await self.log_in()

    async def create_token_headers(self, name: str) -> dict[str, str]:
        """Create an account with a token and no password, and return the Authorization header."""
        async with self.database.write() as connection:
            await connection.execute(insert(tenant).values(id=name, name=name, created_at=0.0))
            await connection.execute(insert(account).values(id=name, tenant=name, name=name, created_at=0.0))
        caller = Caller(account=name, tenant=name, name=name, kind="local")
        secret, _ = await self.accounts.create_token(caller, "test")
        return {"Authorization": f"Bearer {secret}"}

    async def create_discussion(self, headers: Mapping[str, str]) -> Response:
        return await self.client.post("/api/discussions", json=QUESTION, headers=headers)


@asynccontextmanager
async def create_account_app(
    database: Database,
    *,
    local: bool = False,
    requests_per_minute: int = 600,
    model_requests_per_minute: int = 60,
    message_rate: tuple[int, int] = (60, 60),
    debate_rate: tuple[int, int] = (60, 60),
    logins_per_minute: int = 10,
    metrics_token: str | None = None,
    environment: Mapping[str, str] | None = None,
    base_url: str = "http://moot.example",
    **configs: ProviderConfig,
) -> AsyncIterator[AccountApp]:
    async with Registry(configs or {"lab": KEYED_PROVIDER, "bare": KEYLESS_PROVIDER}, environment or {}) as registry:
        worker = await build_idle_worker(database, registry)
        rate_limits = RateLimits(
            RateLimiter(database),
            RateSettings(
                requests_per_minute=requests_per_minute,
                model_requests_per_minute=model_requests_per_minute,
                messages_per_minute=message_rate[0],
                messages_burst=message_rate[1],
                debates_per_minute=debate_rate[0],
                debates_burst=debate_rate[1],
            ),
            logins_per_minute=logins_per_minute,
        )
        services = copy(worker.services)
        services.rate_limits = rate_limits
        caller = await services.accounts.ensure_local_account() if local else None
        with pooled_app_factory() as create:
            app = create(services, caller, metrics_token)
            transport = ASGITransport(app=app, raise_app_exceptions=False)  # type: ignore[arg-type]
            async with AsyncClient(transport=transport, base_url=base_url) as client:
                yield AccountApp(database, app, client)
