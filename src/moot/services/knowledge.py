"""Knowledge service: exports insights from a discussion, and finds patterns in a project."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

from msgspec import Struct

from moot.engine.model_resolution import ResolveModel
from moot.engine.tools.insight_search import InsightSearch
from moot.engine.turns.token_estimates import max_prompt_chars
from moot.prompts.library import load_template
from moot.prompts.tasks.knowledge import project_material, transcript_material
from moot.providers.embeddings import Embedder
from moot.services.model_tasks import ModelTasks
from moot.store.stores import Stores
from moot.types.accounts import Caller
from moot.types.billing import Payer
from moot.types.chunks import Usage
from moot.types.discussions import Discussion
from moot.types.errors import Conflict, DatabaseUnavailable, MootError, NotFound, UsageError
from moot.types.knowledge import Consolidation, ExtractedInsight, ExtractedKnowledge, ExtractedPatterns, Insight
from moot.types.primitives import new_id
from moot.types.requests import ModelRequest, user_message

MAX_DISCUSSIONS = 100  # newest discussions and insights of a project that a consolidation reads
MAX_INSIGHTS = 400


class ExportResult(Struct, frozen=True, kw_only=True):
    """Insights of a discussion, and the cost of the model request."""

    discussion: str
    summary: str
    usefulness: float
    insights: tuple[Insight, ...]
    model: str
    usage: Usage
    cost_usd: float | None  # US dollars; None if the price is unknown


class ConsolidationResult(Struct, frozen=True, kw_only=True):
    consolidation: Consolidation
    usage: Usage
    cost_usd: float | None


class ProjectPatterns(Struct, frozen=True, kw_only=True):
    completed: Consolidation | None  # the newest completed one, whose patterns are in use
    newest: Consolidation | None  # the last attempt, with any status


class KnowledgeService:
    def __init__(
        self, stores: Stores, resolve_model: ResolveModel, model_tasks: ModelTasks, embedder: Embedder | None = None
    ) -> None:
        self._discussions = stores.discussions
        self._projects = stores.projects
        self._insights = stores.insights
        self._consolidations = stores.consolidations
        self._insight_search = InsightSearch(stores.insights, stores.insight_vectors, embedder)
        self._resolve_model = resolve_model
        self._model_tasks = model_tasks

    async def export_insights(self, caller: Caller, id: str, model: str | None = None) -> ExportResult:
        """Extract insights with a model. Replaces an earlier export. Raises Conflict without messages."""
        tenant = caller.tenant
        discussion = await self._discussions.get_discussion(tenant, id)
        messages = await self._discussions.list_messages(id, include_hidden=False)
        chain = await self._resolve_model(tenant, model or _default_model(discussion))
        material = transcript_material(messages, await asyncio.to_thread(max_prompt_chars, chain))
        if not material.sources:
            raise Conflict("This discussion has no messages to export. Send a message first.")
        payer = Payer(tenant=tenant, account=caller.account, discussion=id)
        request = _task_request("export", material.text)
        async with self._model_tasks.within_budget(caller.account):
            answer = await self._model_tasks.run_structured_task(payer, "export", chain, request, ExtractedKnowledge)
        export = answer.unwrap()
        insights = _build_insights(export.insights, material.sources)
        stored = await self._insights.save_export(tenant, id, export.summary, export.usefulness, insights)
        return ExportResult(
            discussion=id,
            summary=export.summary,
            usefulness=export.usefulness,
            insights=stored,
            model=answer.model,
            usage=answer.usage,
            cost_usd=answer.cost_usd,
        )

    async def consolidate_patterns(self, caller: Caller, project: str, model: str | None = None) -> ConsolidationResult:
        """Find patterns with a model. The earlier patterns stay in use until this consolidation completes."""
        tenant = caller.tenant
        await self._projects.get_project(tenant, project)
        discussions = (
            await self._discussions.list_discussions(tenant, project=project, limit=MAX_DISCUSSIONS)
        ).discussions
        insights = (await self._insights.project_insights(tenant, project, limit=MAX_INSIGHTS)).insights
        if not insights and not any(one.summary for one in discussions):
            raise Conflict("This project has no insights. Export one of its discussions first.")
        if model is None and not discussions:
            raise UsageError("model: this project has no discussion to take the default from. Name a model.")
        chain = await self._resolve_model(tenant, model or _default_model(discussions[0]))
        payer = Payer(tenant=tenant, account=caller.account)
        async with self._model_tasks.within_budget(caller.account):
            started = await self._consolidations.start_consolidation(tenant, project, chain[0].name)
            async with self._mark_failed_on_error(tenant, started):
                material = project_material(discussions, insights, await asyncio.to_thread(max_prompt_chars, chain))
                request = _task_request("consolidate", material)
                answer = await self._model_tasks.run_structured_task(
                    payer, "consolidation", chain, request, ExtractedPatterns
                )
                patterns = answer.unwrap().patterns
                done = await self._consolidations.complete_consolidation(tenant, started, answer.model, patterns)
        return ConsolidationResult(consolidation=done, usage=answer.usage, cost_usd=answer.cost_usd)

    @asynccontextmanager
    async def _mark_failed_on_error(self, tenant: str, consolidation: Consolidation) -> AsyncIterator[None]:
        """Mark the consolidation as failed on any error, also on cancellation."""
        try:
            yield
        except BaseException as error:
            # NotFound: it was deleted with its project. If the database is unavailable, the row keeps its status
            # and counts as abandoned after a timeout.
            with suppress(NotFound, DatabaseUnavailable):
                await self._consolidations.fail_consolidation(tenant, consolidation, _failure_reason(error))
            raise

    async def project_patterns(self, tenant: str, project: str) -> ProjectPatterns:
        await self._projects.get_project(tenant, project)
        return ProjectPatterns(
            completed=await self._consolidations.newest_completed_consolidation(tenant, project),
            newest=await self._consolidations.newest_consolidation(tenant, project),
        )

    async def search_insights(self, tenant: str, project: str, query: str, limit: int) -> tuple[Insight, ...]:
        """Return the best matches first."""
        await self._projects.get_project(tenant, project)
        return await self._insight_search.search_insights(tenant, project, query, limit)


def _failure_reason(error: BaseException) -> str:
    match error:
        case MootError():
            return str(error)
        case asyncio.CancelledError():
            return "The request was cancelled before the consolidation completed. Start it again."
    return f"An internal error ended the consolidation ({type(error).__name__}). Start it again."


def _default_model(discussion: Discussion) -> str:
    return discussion.model or discussion.participants[0].model


def _task_request(prompt: str, material: str) -> ModelRequest:
    return ModelRequest(model="", system=load_template(prompt), messages=(user_message(material),))


def _build_insights(found_insights: Sequence[ExtractedInsight], sources: Mapping[str, str]) -> list[Insight]:
    """Replace message labels and pair indexes by ids. Unknown ones are dropped."""
    ids = [new_id("insight") for _ in found_insights]
    now = time.time()
    return [
        Insight(
            id=ids[index],
            discussion="",
            project=None,
            kind=one.kind,
            title=one.title,
            detail=one.detail,
            category=one.category,
            suggestion=one.suggestion or None,
            severity=one.severity,
            answers_insight=_pair_id(one.paired, index, ids),
            messages=tuple(dict.fromkeys(sources[label] for label in _source_labels(one) if label in sources)),
            created_at=now,
        )
        for index, one in enumerate(found_insights)
    ]


def _pair_id(other: int | None, index: int, ids: Sequence[str]) -> str | None:
    return ids[other] if other is not None and 0 <= other < len(ids) and other != index else None


def _source_labels(insight: ExtractedInsight) -> list[str]:
    return [label.strip(" []").lower() for label in insight.messages]
