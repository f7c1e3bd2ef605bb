"""The whole application, called by two tenants with a token each, and models that answer as a test says."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from httpx import ASGITransport, AsyncClient, Response

from moot.app.lifecycle import Worker
from moot.providers.registry import Registry
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS, Script, Scripts
from moot.settings import Settings
from moot.store.accounts.accounts import Accounts
from moot.store.database import Database
from moot.types.accounts import Caller
from tests.support.accounts import ANNA, BERT
from tests.support.app_fixture import build_idle_worker
from tests.support.app_pool import pooled_app_factory


class TenantApi:
    """The server as one tenant or the other meets it."""

    def __init__(self, worker: Worker, client: AsyncClient, scripts: Scripts, tokens: dict[str, str]) -> None:
        self.worker = worker
        self.services = worker.services
        self._client = client
        self.scripts = scripts
        self._tokens = tokens

    async def call(self, method: str, path: str, body: object = None, tenant: str = ANNA, **query: Any) -> Response:
        headers = {"Authorization": f"Bearer {self._tokens[tenant]}"}
        return await self._client.request(method, f"/api{path}", json=body, params=query, headers=headers)

    async def call_ok(self, method: str, path: str, body: object = None, tenant: str = ANNA, **query: Any) -> Any:
        response = await self.call(method, path, body, tenant, **query)
        assert response.is_success, response.text
        return response.json() if response.content else None

    def script_model(self, name: str, answer: object) -> str:
        """Let a scripted model answer with a value as JSON."""
        self.scripts.by_name[name] = Script(answer=msgspec.json.encode(answer).decode(), chunk_chars=1000)
        return f"scripted/{name}"


@asynccontextmanager
async def create_tenant_api(database: Database, settings: Settings | None = None) -> AsyncIterator[TenantApi]:
    scripts = Scripts(BUILT_IN_SCRIPTS)
    async with Registry({}, {"OLLAMA_BASE_URL": "http://127.0.0.1:9/v1"}) as registry:
        registry._providers["scripted"] = ScriptedProvider(scripts)
        worker = await build_idle_worker(database, registry, settings)
        tokens = {who: await _create_token(worker.stores.accounts, who) for who in (ANNA, BERT)}
        with pooled_app_factory() as create:
            app = create(worker.services, None, None)
            transport = ASGITransport(app=app, raise_app_exceptions=False)  # type: ignore[arg-type]
            async with AsyncClient(transport=transport, base_url="http://moot.example") as client:
                yield TenantApi(worker, client, scripts, tokens)


async def _create_token(accounts: Accounts, account_id: str) -> str:
    caller = Caller(account=account_id, tenant=account_id, name=account_id, kind="local")
    secret, _ = await accounts.create_token(caller, "test")
    return secret
