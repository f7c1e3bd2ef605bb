"""A small server with the routes of personas, projects and knowledge, called by two tenants."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from httpx import ASGITransport, AsyncClient, Response
from litestar import Litestar
from litestar.datastructures import State
from litestar.di import Provide
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send

from moot.context.library import shipped
from moot.engine.knowledge import Knowledge
from moot.engine.speaker import Speaker
from moot.model.accounts import Caller
from moot.providers.keys import KeyRing
from moot.providers.registry import Resolved
from moot.providers.scripted import ScriptedProvider
from moot.providers.scripts import BUILT_IN, Script, Scripts
from moot.server.auth import provide_caller
from moot.server.knowledge_routes import KnowledgeRoutes
from moot.server.limits import Limits
from moot.server.persona_routes import PersonaRoutes
from moot.server.problems import HANDLERS
from moot.server.project_routes import ProjectRoutes
from moot.store.database import Database
from moot.store.insights import Insights
from moot.store.personas import Personas
from moot.store.projects import Projects
from moot.store.rates import Rates
from tests.store.people import ANNA


class Signed(ASGIMiddleware):
    """Believe who a caller says they are."""

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        headers = dict(scope["headers"])
        tenant = headers.get(b"x-tenant", ANNA.encode()).decode()
        scope["user"] = Caller(account=tenant, tenant=tenant, name=tenant, kind="local")
        await next_app(scope, receive, send)


class Api:
    """The server as one tenant or the other meets it."""

    def __init__(self, client: AsyncClient, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts

    async def call(
        self, method: str, path: str, body: object = None, tenant: str = ANNA, **query: Any
    ) -> Response:
        return await self._client.request(
            method, f"/api{path}", json=body, params=query, headers={"x-tenant": tenant}
        )

    async def ok(self, method: str, path: str, body: object = None, tenant: str = ANNA, **query: Any) -> Any:
        response = await self.call(method, path, body, tenant, **query)
        assert response.is_success, response.text
        return response.json() if response.content else None

    def model(self, name: str, answer: object) -> str:
        """Let a scripted model answer with a value as JSON."""
        self._scripts.named[name] = Script(answer=msgspec.json.encode(answer).decode(), chunk=1000)
        return f"scripted/{name}"


@asynccontextmanager
async def knowing(database: Database) -> AsyncIterator[Api]:
    scripts = Scripts(BUILT_IN)
    provider = ScriptedProvider(scripts)

    async def chains(tenant: str, model: str) -> Sequence[Resolved]:
        return [Resolved(model, provider, model.removeprefix("scripted/"), KeyRing(()))]

    parts = {
        "personas": Personas(database, shipped()),
        "projects": Projects(database),
        "insights": Insights(database),
        "knowledge": Knowledge(database, chains, Speaker(backoff=0.001)),
    }
    app = Litestar(
        route_handlers=[PersonaRoutes, ProjectRoutes, KnowledgeRoutes],
        dependencies={"caller": provide_caller, **{name: _given(part) for name, part in parts.items()}},
        middleware=[Signed()],
        exception_handlers=HANDLERS,
        state=State({"limits": Limits(Rates(database))}),
        logging_config=None,
    )
    transport = ASGITransport(app=app)  # type: ignore[arg-type]
    async with AsyncClient(transport=transport, base_url="http://moot.example") as client:
        yield Api(client, scripts)


def _given(part: object) -> Provide:
    async def give() -> Any:
        return part

    return Provide(give)
