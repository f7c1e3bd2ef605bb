"""Knowledge: what a model finds worth keeping in a discussion, and what recurs in a project."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

from msgspec import Struct

from moot.engine.model_resolution import Chains
from moot.engine.tools.insight_search import InsightSearch
from moot.engine.turns.token_estimates import room
from moot.prompts.tasks.knowledge import findings, transcript
from moot.prompts.templates import written
from moot.providers.embeddings import Embedder
from moot.services.model_tasks import Errands
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.library.insights import Insights, Vectors
from moot.store.library.patterns import Consolidations
from moot.store.library.projects import Projects
from moot.types.accounts import Caller
from moot.types.billing import Payer
from moot.types.chunks import Usage
from moot.types.discussions import Discussion
from moot.types.errors import Conflict, MootError, NotFound, StoreUnavailable, UsageError
from moot.types.knowledge import Consolidation, Export, Findings, FoundInsight, Insight
from moot.types.primitives import new_id
from moot.types.requests import ModelRequest, user

DISCUSSIONS = 100  # the newest of a project that are looked over
INSIGHTS = 400


class Exported(Struct, frozen=True, kw_only=True):
    """What was found in a discussion, by which model, and what that took."""

    discussion: str
    summary: str
    usefulness: float
    insights: tuple[Insight, ...]
    model: str
    usage: Usage
    cost: float | None


class Consolidated(Struct, frozen=True, kw_only=True):
    consolidation: Consolidation
    usage: Usage
    cost: float | None


class Patterns(Struct, frozen=True, kw_only=True):
    """`completed` is the consolidation that counts, `newest` the last attempt, whatever became of it."""

    completed: Consolidation | None
    newest: Consolidation | None


class Knowledge:
    """`chains` finds who is asked for a tenant's model."""

    def __init__(
        self,
        database: Database,
        chains: Chains,
        errands: Errands,
        embedder: Embedder | None = None,
    ) -> None:
        self._discussions = Discussions(database)
        self._projects = Projects(database)
        self._insights = Insights(database)
        self._consolidations = Consolidations(database)
        self._search = InsightSearch(self._insights, Vectors(database), embedder)
        self._chains = chains
        self._errands = errands

    async def export(self, caller: Caller, id: str, model: str | None = None) -> Exported:
        """Let a model write down what a discussion came to; an earlier export is replaced."""
        tenant = caller.tenant
        discussion = await self._discussions.get(tenant, id)
        messages = await self._discussions.messages(id, hidden=False)
        chain = await self._chains(tenant, model or _model_of(discussion))
        material = transcript(messages, await asyncio.to_thread(room, chain))
        if not material.sources:
            raise Conflict("Nothing was said in this discussion yet: there is nothing to export.")
        payer = Payer(tenant=tenant, account=caller.account, discussion=id)
        asking = _request("export", material.text)
        async with self._errands.within_budget(caller.account):
            answer = await self._errands.ask(payer, "export", chain, asking, Export)
        export = answer.needed()
        found = _insights(export.insights, material.sources)
        kept = await self._insights.keep_export(tenant, id, export.summary, export.usefulness, found)
        return Exported(
            discussion=id,
            summary=export.summary,
            usefulness=export.usefulness,
            insights=kept,
            model=answer.model,
            usage=answer.usage,
            cost=answer.cost,
        )

    async def consolidate(self, caller: Caller, project: str, model: str | None = None) -> Consolidated:
        """Let a model look for patterns in a project; they count once it is through."""
        tenant = caller.tenant
        await self._projects.get(tenant, project)
        discussions = (await self._discussions.page(tenant, project=project, limit=DISCUSSIONS)).discussions
        insights = (await self._insights.of_project(tenant, project, limit=INSIGHTS)).insights
        if not insights and not any(one.summary for one in discussions):
            raise Conflict("Nothing is known of this project yet: export one of its discussions first.")
        if model is None and not discussions:
            raise UsageError("model: this project has no discussion to take a model from: name one.")
        chain = await self._chains(tenant, model or _model_of(discussions[0]))
        payer = Payer(tenant=tenant, account=caller.account)
        async with self._errands.within_budget(caller.account):
            started = await self._consolidations.start(tenant, project, chain[0].name)
            async with self._noted_as_failed(tenant, started):
                material = findings(discussions, insights, await asyncio.to_thread(room, chain))
                asking = _request("consolidate", material)
                answer = await self._errands.ask(payer, "consolidation", chain, asking, Findings)
                patterns = answer.needed().patterns
                done = await self._consolidations.complete(tenant, started, answer.model, patterns)
        return Consolidated(consolidation=done, usage=answer.usage, cost=answer.cost)

    @asynccontextmanager
    async def _noted_as_failed(self, tenant: str, started: Consolidation) -> AsyncIterator[None]:
        """Leave no consolidation running that nobody works on any more."""
        try:
            yield
        except BaseException as error:
            with suppress(
                NotFound, StoreUnavailable
            ):  # the project is gone, and it too; or it will look left
                await self._consolidations.fail(tenant, started, _why(error))
            raise

    async def patterns(self, tenant: str, project: str) -> Patterns:
        await self._projects.get(tenant, project)
        return Patterns(
            completed=await self._consolidations.newest_completed(tenant, project),
            newest=await self._consolidations.newest(tenant, project),
        )

    async def search(self, tenant: str, project: str, q: str, limit: int) -> tuple[Insight, ...]:
        """Find insights of a project, the best first."""
        await self._projects.get(tenant, project)
        return await self._search.find(tenant, project, q, limit)


def _why(error: BaseException) -> str:
    match error:
        case MootError():
            return str(error)
        case asyncio.CancelledError():
            return "Whoever waited for it left before it was done: start it again."
    return f"A mistake in Moot itself ended it ({type(error).__name__}): start it again."


def _model_of(discussion: Discussion) -> str:
    return discussion.model or discussion.participants[0].model


def _request(prompt: str, material: str) -> ModelRequest:
    return ModelRequest(model="", system=written(prompt), messages=(user(material),))


def _insights(found: Sequence[FoundInsight], sources: Mapping[str, str]) -> list[Insight]:
    """Give ids to what was found, and put ids in the place of labels and places; what does not exist is dropped."""
    ids = [new_id("insight") for _ in found]
    now = time.time()
    return [
        Insight(
            id=ids[place],
            discussion="",
            project=None,
            kind=one.kind,
            title=one.title,
            detail=one.detail,
            category=one.category,
            suggestion=one.suggestion or None,
            severity=one.severity,
            paired=_paired(one.paired, place, ids),
            messages=tuple(dict.fromkeys(sources[label] for label in _labels(one) if label in sources)),
            created_at=now,
        )
        for place, one in enumerate(found)
    ]


def _paired(other: int | None, place: int, ids: Sequence[str]) -> str | None:
    return ids[other] if other is not None and 0 <= other < len(ids) and other != place else None


def _labels(one: FoundInsight) -> list[str]:
    return [label.strip(" []").lower() for label in one.messages]
