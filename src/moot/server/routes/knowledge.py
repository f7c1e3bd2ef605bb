"""Routes for knowledge: insights of discussions and patterns of projects."""

from typing import Annotated, Any

from litestar import Controller, Request, get, post
from litestar.di import NamedDependency as Given
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import Struct

from moot.providers.embeddings import HttpEmbedder
from moot.server.auth import Revocations
from moot.server.rate_limits import RateLimits, model_request_rate
from moot.server.requests import PageCursor, PageLimit, reject_if_draining, run_until_disconnect
from moot.services.knowledge import ConsolidationResult, ExportResult, KnowledgeService, ProjectPatterns
from moot.store.library.insights import Insights
from moot.store.library.projects import Projects
from moot.types.accounts import Caller
from moot.types.knowledge import InsightPage
from moot.types.primitives import ModelName


class KnowledgeRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    # Default: the model of the discussion, or of the project's newest discussion.
    model: ModelName | None = None


class KnowledgeRoutes(Controller):
    path = "/api"
    tags = ("knowledge",)

    @post(
        "/discussions/{id:str}/export",
        status_code=200,
        guards=[model_request_rate, reject_if_draining],
        summary="Export a summary and insights of a discussion, written by a model",
    )
    async def export_discussion(
        self,
        id: FromPath[str],
        request: Request[Caller, Any, Any],
        revocations: Given[Revocations],
        knowledge: Given[KnowledgeService],
        data: JSONBody[KnowledgeRequest | None] = None,
    ) -> ExportResult:
        """Respond when the model has answered: a summary, its usefulness and insights. Replaces an earlier export."""
        export = knowledge.export_insights(request.user, id, data.model if data else None)
        return await run_until_disconnect(request, revocations, export)

    @get("/discussions/{id:str}/insights", summary="List the insights of a discussion")
    async def list_discussion_insights(
        self, id: FromPath[str], caller: Given[Caller], insights: Given[Insights]
    ) -> InsightPage:
        return InsightPage(await insights.discussion_insights(caller.tenant, id), next=None)

    @post(
        "/projects/{id:str}/consolidate",
        status_code=200,
        guards=[model_request_rate, reject_if_draining],
        summary="Find patterns in a project with a model",
    )
    async def consolidate_project(
        self,
        id: FromPath[str],
        request: Request[Caller, Any, Any],
        revocations: Given[Revocations],
        knowledge: Given[KnowledgeService],
        data: JSONBody[KnowledgeRequest | None] = None,
    ) -> ConsolidationResult:
        """Respond when the model has answered. Later prompts of the project include the patterns."""
        consolidation = knowledge.consolidate_patterns(request.user, id, data.model if data else None)
        return await run_until_disconnect(request, revocations, consolidation)

    @get("/projects/{id:str}/patterns", summary="Get the newest completed consolidation")
    async def get_project_patterns(
        self, id: FromPath[str], caller: Given[Caller], knowledge: Given[KnowledgeService]
    ) -> ProjectPatterns:
        return await knowledge.project_patterns(caller.tenant, id)

    @get("/projects/{id:str}/insights", summary="List a project's insights, or search them")
    async def list_project_insights(
        self,
        id: FromPath[str],
        caller: Given[Caller],
        knowledge: Given[KnowledgeService],
        projects: Given[Projects],
        insights: Given[Insights],
        embedder: Given[HttpEmbedder | None],
        rate_limits: Given[RateLimits],
        cursor: PageCursor = None,
        limit: PageLimit = 50,
        q: Annotated[str, QueryParameter(max_length=500)] = "",
    ) -> InsightPage:
        """Without `q`, pages with the newest first. With `q`, one list of at most `limit`, best match first."""
        if q.strip():
            if embedder is not None:
                await rate_limits.count_model_request(caller.account)
            return InsightPage(await knowledge.search_insights(caller.tenant, id, q, limit), next=None)
        await projects.get_project(caller.tenant, id)
        return await insights.project_insights(caller.tenant, id, cursor=cursor, limit=limit)
