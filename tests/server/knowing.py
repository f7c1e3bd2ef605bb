"""The whole application, called by two tenants with a token each, and models that answer as a test says."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from httpx import ASGITransport, AsyncClient, Response

from moot.app.container import Services
from moot.providers.registry import Registry
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS, Script, Scripts
from moot.settings import Settings
from moot.store.database import Database
from moot.types.accounts import Caller
from tests.server.apps import lent
from tests.server.talking import idle
from tests.store.people import ANNA, BERT


class Api:
    """The server as one tenant or the other meets it."""

    def __init__(
        self, house: Services, client: AsyncClient, scripts: Scripts, tokens: dict[str, str]
    ) -> None:
        self.house = house
        self._client = client
        self.scripts = scripts
        self._tokens = tokens

    async def call(
        self, method: str, path: str, body: object = None, tenant: str = ANNA, **query: Any
    ) -> Response:
        headers = {"Authorization": f"Bearer {self._tokens[tenant]}"}
        return await self._client.request(method, f"/api{path}", json=body, params=query, headers=headers)

    async def ok(self, method: str, path: str, body: object = None, tenant: str = ANNA, **query: Any) -> Any:
        response = await self.call(method, path, body, tenant, **query)
        assert response.is_success, response.text
        return response.json() if response.content else None

    def model(self, name: str, answer: object) -> str:
        """Let a scripted model answer with a value as JSON."""
        self.scripts.by_name[name] = Script(answer=msgspec.json.encode(answer).decode(), chunk=1000)
        return f"scripted/{name}"


@asynccontextmanager
async def knowing(database: Database, settings: Settings | None = None) -> AsyncIterator[Api]:
    scripts = Scripts(BUILT_IN_SCRIPTS)
    async with Registry({}, {"OLLAMA_BASE_URL": "http://127.0.0.1:9/v1"}) as registry:
        registry._providers["scripted"] = ScriptedProvider(scripts)
        house = await idle(database, registry, settings)
        tokens = {who: await _token(house, who) for who in (ANNA, BERT)}
        with lent() as create:
            app = create(house.accounts, house.limits, None, house.route_dependencies(), None)
            transport = ASGITransport(app=app, raise_app_exceptions=False)  # type: ignore[arg-type]
            async with AsyncClient(transport=transport, base_url="http://moot.example") as client:
                yield Api(house, client, scripts, tokens)


async def _token(house: Services, who: str) -> str:
    caller = Caller(account=who, tenant=who, name=who, kind="local")
    secret, _ = await house.accounts.create_token(caller, "test")
    return secret
