"""Knowledge over HTTP: exporting discussions, consolidating projects, and reading what was found."""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, TypeVar

from litestar import Controller, Request, get, post
from litestar.di import NamedDependency as Given
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import Struct

from moot.providers.embeddings import HttpEmbedder
from moot.server.auth import Revocations
from moot.server.disconnects import while_waited_for
from moot.server.rate_limits import RateLimits, start_rate
from moot.server.schemas import Cursor, Limit
from moot.services.discussions import Hall
from moot.services.knowledge import Consolidated, Exported, Knowledge, Patterns
from moot.store.library.insights import Insights
from moot.store.library.projects import Projects
from moot.types.accounts import Caller
from moot.types.knowledge import InsightPage
from moot.types.primitives import ModelName

T = TypeVar("T")


class Asked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`model` is who reads; left out, it is that of the discussion, or of the project's newest one."""

    model: ModelName | None = None


class KnowledgeRoutes(Controller):
    path = "/api"
    tags = ("knowledge",)

    @post(
        "/discussions/{id:str}/export",
        status_code=200,
        guards=[start_rate],
        summary="Let a model write down what a discussion came to",
    )
    async def export(
        self,
        id: FromPath[str],
        request: Request[Caller, Any, Any],
        hall: Given[Hall],
        revocations: Given[Revocations],
        knowledge: Given[Knowledge],
        data: JSONBody[Asked | None] = None,
    ) -> Exported:
        """Answer when the model has: a summary, how useful it is, and insights. An earlier export is replaced."""
        hall.refuse_if_leaving()
        return await _asked(request, revocations, knowledge.export, id, data)

    @get("/discussions/{id:str}/insights", summary="List what was found in a discussion")
    async def of_discussion(
        self, id: FromPath[str], caller: Given[Caller], insights: Given[Insights]
    ) -> InsightPage:
        return InsightPage(await insights.of_discussion(caller.tenant, id), next=None)

    @post(
        "/projects/{id:str}/consolidate",
        status_code=200,
        guards=[start_rate],
        summary="Let a model look for patterns in a project",
    )
    async def consolidate(
        self,
        id: FromPath[str],
        request: Request[Caller, Any, Any],
        hall: Given[Hall],
        revocations: Given[Revocations],
        knowledge: Given[Knowledge],
        data: JSONBody[Asked | None] = None,
    ) -> Consolidated:
        """Answer when the model has; from then on participants are told of the patterns."""
        hall.refuse_if_leaving()
        return await _asked(request, revocations, knowledge.consolidate, id, data)

    @get("/projects/{id:str}/patterns", summary="Read the newest completed consolidation")
    async def patterns(
        self, id: FromPath[str], caller: Given[Caller], knowledge: Given[Knowledge]
    ) -> Patterns:
        return await knowledge.patterns(caller.tenant, id)

    @get("/projects/{id:str}/insights", summary="List a project's insights, or search them")
    async def of_project(
        self,
        id: FromPath[str],
        caller: Given[Caller],
        knowledge: Given[Knowledge],
        projects: Given[Projects],
        insights: Given[Insights],
        embedder: Given[HttpEmbedder | None],
        limits: Given[RateLimits],
        cursor: Cursor = None,
        limit: Limit = 50,
        q: Annotated[str, QueryParameter(max_length=500)] = "",
    ) -> InsightPage:
        """Newest first, a page at a time; with `q` the best first, and as many as `limit` says."""
        if q.strip():
            if embedder is not None:
                await limits.start(caller.account)
            return InsightPage(await knowledge.search(caller.tenant, id, q, limit), next=None)
        await projects.get(caller.tenant, id)
        return await insights.of_project(caller.tenant, id, cursor=cursor, limit=limit)


async def _asked(
    request: Request[Caller, Any, Any],
    revocations: Revocations,
    work: Callable[[Caller, str, str | None], Coroutine[None, None, T]],
    id: str,
    data: Asked | None,
) -> T:
    asking = work(request.user, id, data.model if data else None)
    return await while_waited_for(request, revocations, asking)
