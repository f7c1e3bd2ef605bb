"""Insights of a discussion and consolidations of a project."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec
import pytest

from moot.engine.turns.model_caller import MAX_ATTEMPTS, MAX_WAIT_SECONDS, ModelCaller
from moot.providers.keys import KeyRing
from moot.providers.provider import ChunkStream
from moot.providers.registry import ResolvedModel
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS, Script, Scripts
from moot.services.knowledge import KnowledgeService
from moot.services.model_tasks import ModelTasks
from moot.store.billing.usage import UsageReports
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.library.insights import Insights
from moot.store.library.patterns import ABANDONED_AFTER_SECONDS
from moot.store.library.projects import Projects
from moot.streaming.turn_stream import Limits
from moot.types.accounts import Caller
from moot.types.chunks import Text
from moot.types.errors import Conflict, MissingKey, NotFound, OverBudget, ProviderError
from moot.types.projects import Project, ProjectDraft
from moot.types.requests import ModelRequest
from tests.support.accounts import ANNA, BERT, create_discussion, database_with_accounts
from tests.support.databases import SLOW_ON_POSTGRES
from tests.support.stores import make_stores

CALLER = Caller(account=ANNA, tenant=ANNA, name="Anna", kind="session")
OTHER_CALLER = Caller(account=BERT, tenant=BERT, name="Bert", kind="session")
PAIN_INSIGHT = {
    "title": "Tables wobble",
    "detail": "On old floors.",
    "suggestion": "",
    "category": "legs",
    "kind": "pain_point",
    "severity": "high",
    "paired": None,
    "messages": ["m1", "[M2]", "m2", "m99"],
}
SOLUTION_INSIGHT = {
    "title": "A wedge helps",
    "detail": "Of wood.",
    "suggestion": "Keep some.",
    "category": "legs",
    "kind": "solution",
    "paired": 0,
    "messages": ["m2"],
}
EXPORT_ANSWER = {
    "summary": "Tables wobble; wedges help.",
    "usefulness": 0.7,
    "insights": [PAIN_INSIGHT, SOLUTION_INSIGHT],
}
PATTERN = {
    "kind": "pain",
    "title": "Everything wobbles",
    "description": "Floors are old here.",
    "evidence": ["Tables wobble"],
    "frequency": 2,
    "severity": "high",
    "tags": ["legs", "floors"],
}


class RecordingProvider(ScriptedProvider):
    """Scripted models that record their requests."""

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []
        self.scripts = Scripts(BUILT_IN_SCRIPTS)
        super().__init__(self.scripts)

    def add_model(self, name: str, value: object, price: float = 0.0) -> str:
        """Add a model that answers with a value as JSON."""
        answer = msgspec.json.encode(value).decode()
        self.scripts.by_name[name] = Script(answer=answer, chunk_chars=1000, usd_per_million_tokens=price)
        return f"scripted/{name}"

    async def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
        self.requests.append(request)
        async for chunks in super().stream_chunks(request, key):
            yield chunks

    def prompt_text(self, position: int = -1) -> str:
        (part,) = self.requests[position].messages[0].parts
        assert isinstance(part, Text)
        return part.text


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with database_with_accounts(request.param, tmp_path) as database:
        yield database


@pytest.fixture
def models() -> RecordingProvider:
    return RecordingProvider()


@pytest.fixture
def knowledge(database: Database, models: RecordingProvider) -> KnowledgeService:
    async def resolve_model(tenant: str, model: str) -> Sequence[ResolvedModel]:
        if tenant != ANNA:
            raise MissingKey("No key for scripted.")
        return [ResolvedModel(model, models, model.removeprefix("scripted/"), KeyRing(()))]

    stores = make_stores(database, 1.0)
    return KnowledgeService(stores, resolve_model, ModelTasks(stores, ModelCaller(backoff_seconds=0.001)))


@pytest.fixture
async def sample_project(database: Database) -> Project:
    return await Projects(database).create_project(ANNA, ProjectDraft(name="Moot"))


async def message_ids(database: Database, discussion: str) -> list[str]:
    return [message.id for message in await Discussions(database).list_messages(discussion)]


async def test_export_stores_insights_found_by_model(
    database: Database, knowledge: KnowledgeService, models: RecordingProvider, sample_project: Project
) -> None:
    reader = models.add_model("reader", EXPORT_ANSWER)
    about = await create_discussion(
        database, ANNA, "It wobbles.", "Use a wedge.", project=sample_project.id, model=reader
    )
    first, second = await message_ids(database, about.id)
    exported = await knowledge.export_insights(CALLER, about.id)
    pain, suggestion = exported.insights
    assert (exported.summary, exported.usefulness, exported.model) == (EXPORT_ANSWER["summary"], 0.7, reader)
    assert (exported.cost_usd, exported.usage.output > 0) == (0.0, True)
    assert (pain.kind, pain.severity, pain.suggestion) == ("pain_point", "high", None)
    assert pain.messages == (first, second)
    assert (suggestion.answers_insight, suggestion.messages, suggestion.project) == (
        pain.id,
        (second,),
        sample_project.id,
    )
    assert await Insights(database).discussion_insights(ANNA, about.id) == exported.insights
    stored = await Discussions(database).get_discussion(ANNA, about.id)
    assert (stored.summary, stored.usefulness) == (EXPORT_ANSWER["summary"], 0.7)


async def test_export_prompt_labels_messages(
    database: Database, knowledge: KnowledgeService, models: RecordingProvider
) -> None:
    about = await create_discussion(
        database, ANNA, "It wobbles.", "Use a wedge.", model=models.add_model("reader", EXPORT_ANSWER)
    )
    await knowledge.export_insights(CALLER, about.id)
    assert models.prompt_text() == "[m1] The person:\nIt wobbles.\n\n[m2] Alpha:\nUse a wedge."
    assert models.requests[0].system.startswith("You keep the record of a discussion")
    assert models.requests[0].json_schema is not None


async def test_export_replaces_previous_insights(
    database: Database, knowledge: KnowledgeService, models: RecordingProvider
) -> None:
    about = await create_discussion(database, ANNA, "It wobbles.", model=models.add_model("reader", EXPORT_ANSWER))
    await knowledge.export_insights(CALLER, about.id)
    models.add_model("reader", {"summary": "Nothing new.", "usefulness": 0, "insights": []})
    await knowledge.export_insights(CALLER, about.id)
    assert await Insights(database).discussion_insights(ANNA, about.id) == ()


@pytest.mark.parametrize("paired", [1, 2, -1])
async def test_insight_with_unknown_pair_has_none(
    database: Database, knowledge: KnowledgeService, models: RecordingProvider, paired: int
) -> None:
    reader = models.add_model(
        "reader", {**EXPORT_ANSWER, "insights": [PAIN_INSIGHT, {**SOLUTION_INSIGHT, "paired": paired}]}
    )
    about = await create_discussion(database, ANNA, "It wobbles.", model=reader)
    _, suggestion = (await knowledge.export_insights(CALLER, about.id)).insights
    assert suggestion.answers_insight is None


async def test_export_uses_given_model_or_discussion_model(
    database: Database, knowledge: KnowledgeService, models: RecordingProvider
) -> None:
    about = await create_discussion(database, ANNA, "It wobbles.", model=models.add_model("reader", EXPORT_ANSWER))
    other = models.add_model("other", EXPORT_ANSWER)
    assert (await knowledge.export_insights(CALLER, about.id, other)).model == other
    assert (await knowledge.export_insights(CALLER, about.id)).model == "scripted/reader"
    await Discussions(database).update_discussion(ANNA, about.id, {"model": other})
    assert (await knowledge.export_insights(CALLER, about.id)).model == other


async def test_failed_export_keeps_previous_insights(
    database: Database, knowledge: KnowledgeService, models: RecordingProvider
) -> None:
    about = await create_discussion(database, ANNA, "It wobbles.", model=models.add_model("reader", EXPORT_ANSWER))
    before = await knowledge.export_insights(CALLER, about.id)
    for model in ("scripted/unauthorized", models.add_model("babbler", {"summary": 7})):
        with pytest.raises(ProviderError):
            await knowledge.export_insights(CALLER, about.id, model)
    assert await Insights(database).discussion_insights(ANNA, about.id) == before.insights


async def test_export_rejects_empty_and_foreign_discussions(
    database: Database, knowledge: KnowledgeService, models: RecordingProvider
) -> None:
    silent = await create_discussion(database, ANNA)
    with pytest.raises(Conflict, match="no messages to export"):
        await knowledge.export_insights(CALLER, silent.id)
    foreign = await create_discussion(database, BERT, "Mine.")
    with pytest.raises(NotFound):
        await knowledge.export_insights(CALLER, foreign.id)
    with pytest.raises(MissingKey):
        await knowledge.export_insights(OTHER_CALLER, foreign.id)
    assert models.requests == []


async def test_export_shortens_long_discussion(
    database: Database, knowledge: KnowledgeService, models: RecordingProvider
) -> None:
    about = await create_discussion(
        database, ANNA, *["word " * 20_000] * 5, model=models.add_model("reader", EXPORT_ANSWER)
    )
    await knowledge.export_insights(CALLER, about.id)
    assert 100_000 < len(models.prompt_text()) < 201_000
    assert models.prompt_text().startswith("This discussion is long.")


async def test_consolidation_finds_patterns_of_project(
    database: Database, knowledge: KnowledgeService, models: RecordingProvider, sample_project: Project
) -> None:
    about = await create_discussion(
        database,
        ANNA,
        "It wobbles.",
        project=sample_project.id,
        model=models.add_model("reader", EXPORT_ANSWER),
    )
    await knowledge.export_insights(CALLER, about.id)
    finder = models.add_model("finder", {"patterns": [PATTERN, {**PATTERN, "kind": "tool", "frequency": 9}]})
    done = (await knowledge.consolidate_patterns(CALLER, sample_project.id, finder)).consolidation
    assert (done.status, done.model) == ("completed", finder)
    assert [(one.kind, one.frequency, one.severity) for one in done.patterns] == [
        ("tool", 9, None),
        ("pain", 2, "high"),
    ]
    found = await knowledge.project_patterns(ANNA, sample_project.id)
    assert found.completed == found.newest == done
    assert (await Projects(database).project_facts(ANNA, sample_project.id)).patterns == done.patterns
    assert "Tables wobble: On old floors." in models.prompt_text()
    assert "d1 A table: Tables wobble; wedges help." in models.prompt_text()


async def test_consolidation_uses_model_of_newest_discussion(
    database: Database, knowledge: KnowledgeService, models: RecordingProvider, sample_project: Project
) -> None:
    old = await create_discussion(
        database,
        ANNA,
        "It wobbles.",
        project=sample_project.id,
        model=models.add_model("reader", EXPORT_ANSWER),
    )
    await knowledge.export_insights(CALLER, old.id)
    newest = models.add_model("finder", {"patterns": []})
    await create_discussion(database, ANNA, "Hello", project=sample_project.id, model=newest)
    assert (await knowledge.consolidate_patterns(CALLER, sample_project.id)).consolidation.model == newest


async def test_failed_consolidation_is_recorded_and_last_completed_stays_current(
    database: Database, knowledge: KnowledgeService, models: RecordingProvider, sample_project: Project
) -> None:
    about = await create_discussion(
        database,
        ANNA,
        "It wobbles.",
        project=sample_project.id,
        model=models.add_model("reader", EXPORT_ANSWER),
    )
    await knowledge.export_insights(CALLER, about.id)
    good = (
        await knowledge.consolidate_patterns(
            CALLER, sample_project.id, models.add_model("finder", {"patterns": [PATTERN]})
        )
    ).consolidation
    with pytest.raises(ProviderError, match="Key rejected"):
        await knowledge.consolidate_patterns(CALLER, sample_project.id, "scripted/unauthorized")
    found = await knowledge.project_patterns(ANNA, sample_project.id)
    assert found.completed == good
    assert found.newest is not None
    assert found.newest.status == "failed"
    assert "Key rejected" in (found.newest.fault or "")


async def test_consolidation_is_running_until_done_and_failed_when_cancelled(
    database: Database, knowledge: KnowledgeService, models: RecordingProvider, sample_project: Project
) -> None:
    about = await create_discussion(
        database,
        ANNA,
        "It wobbles.",
        project=sample_project.id,
        model=models.add_model("reader", EXPORT_ANSWER),
    )
    await knowledge.export_insights(CALLER, about.id)
    running = asyncio.create_task(knowledge.consolidate_patterns(CALLER, sample_project.id, "scripted/silence"))
    async with asyncio.timeout(60):
        while (newest := (await knowledge.project_patterns(ANNA, sample_project.id)).newest) is None:
            await asyncio.sleep(0.01)
    assert (newest.status, newest.ended_at) == ("running", None)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    left = (await knowledge.project_patterns(ANNA, sample_project.id)).newest
    assert left is not None
    assert (left.status, left.fault) == (
        "failed",
        "The request was cancelled before the consolidation completed. Start it again.",
    )


async def test_internal_error_marks_consolidation_as_failed(
    database: Database,
    knowledge: KnowledgeService,
    models: RecordingProvider,
    sample_project: Project,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    about = await create_discussion(
        database,
        ANNA,
        "It wobbles.",
        project=sample_project.id,
        model=models.add_model("reader", EXPORT_ANSWER),
    )
    await knowledge.export_insights(CALLER, about.id)

    def broken(_: str) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(models, "model_profile", broken)
    with pytest.raises(ZeroDivisionError):
        await knowledge.consolidate_patterns(CALLER, sample_project.id)
    newest = (await knowledge.project_patterns(ANNA, sample_project.id)).newest
    assert newest is not None
    assert newest.status == "failed"
    assert "An internal error" in (newest.fault or "")


async def test_project_deleted_during_consolidation_does_not_hide_cancellation(
    database: Database, knowledge: KnowledgeService, models: RecordingProvider, sample_project: Project
) -> None:
    about = await create_discussion(
        database,
        ANNA,
        "It wobbles.",
        project=sample_project.id,
        model=models.add_model("reader", EXPORT_ANSWER),
    )
    await knowledge.export_insights(CALLER, about.id)
    running = asyncio.create_task(knowledge.consolidate_patterns(CALLER, sample_project.id, "scripted/silence"))
    async with asyncio.timeout(60):
        while (await knowledge.project_patterns(ANNA, sample_project.id)).newest is None:
            await asyncio.sleep(0.01)
    await Projects(database).delete_project(ANNA, sample_project.id)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


def test_abandoned_threshold_exceeds_longest_consolidation() -> None:
    asks, models = 2, 3
    longest = asks * models * MAX_ATTEMPTS * (Limits().total + MAX_WAIT_SECONDS)
    assert 2 * longest < ABANDONED_AFTER_SECONDS


async def test_consolidation_rejects_project_without_insights_and_other_tenant(
    database: Database, knowledge: KnowledgeService, models: RecordingProvider, sample_project: Project
) -> None:
    await create_discussion(database, ANNA, "Hello", project=sample_project.id)
    with pytest.raises(Conflict, match="Export one of its discussions"):
        await knowledge.consolidate_patterns(CALLER, sample_project.id)
    for forbidden in (
        knowledge.consolidate_patterns(OTHER_CALLER, sample_project.id, "scripted/echo"),
        knowledge.project_patterns(BERT, sample_project.id),
        knowledge.search_insights(BERT, sample_project.id, "table", 10),
    ):
        with pytest.raises(NotFound):
            await forbidden
    assert models.requests == []


async def test_search_finds_insights_by_words(
    database: Database, knowledge: KnowledgeService, models: RecordingProvider, sample_project: Project
) -> None:
    about = await create_discussion(
        database,
        ANNA,
        "It wobbles.",
        project=sample_project.id,
        model=models.add_model("reader", EXPORT_ANSWER),
    )
    exported = await knowledge.export_insights(CALLER, about.id)
    assert await knowledge.search_insights(ANNA, sample_project.id, "wedge", 10) == exported.insights[1:]


async def cost_by_purpose(database: Database) -> dict[str | None, float]:
    """Return Anna's cost by purpose."""
    rows = (await UsageReports(database).account_usage(ANNA, 0, 2**40, "purpose")).rows
    return {row.key: row.cost_usd for row in rows}


async def test_model_calls_are_charged_to_caller_even_when_they_fail(
    database: Database, knowledge: KnowledgeService, models: RecordingProvider, sample_project: Project
) -> None:
    reader = models.add_model("reader", EXPORT_ANSWER, price=1)
    about = await create_discussion(database, ANNA, "It wobbles.", project=sample_project.id, model=reader)
    exported = await knowledge.export_insights(CALLER, about.id)
    assert exported.cost_usd
    assert await cost_by_purpose(database) == {"export": exported.cost_usd}
    with pytest.raises(ProviderError, match="was asked twice"):
        await knowledge.export_insights(CALLER, about.id, models.add_model("babbler", {"summary": 7}, price=1))
    assert (await cost_by_purpose(database))["export"] > exported.cost_usd
    done = await knowledge.consolidate_patterns(
        CALLER, sample_project.id, models.add_model("finder", {"patterns": []}, price=1)
    )
    assert (await cost_by_purpose(database))["consolidation"] == done.cost_usd
    (in_discussion, nowhere) = (await UsageReports(database).account_usage(ANNA, 0, 2**40, "discussion")).rows
    assert (in_discussion.key, nowhere.key) == (about.id, None)


async def test_spent_budget_rejects_export_and_consolidation(
    database: Database, knowledge: KnowledgeService, models: RecordingProvider, sample_project: Project
) -> None:
    dear = models.add_model("dear", EXPORT_ANSWER, price=1_000_000)
    about = await create_discussion(database, ANNA, "It wobbles.", project=sample_project.id, model=dear)
    await knowledge.export_insights(CALLER, about.id)
    asked = len(models.requests)
    for refused in (
        knowledge.export_insights(CALLER, about.id),
        knowledge.consolidate_patterns(CALLER, sample_project.id),
    ):
        with pytest.raises(OverBudget, match="is spent"):
            await refused
    assert len(models.requests) == asked
    assert (await knowledge.project_patterns(ANNA, sample_project.id)).newest is None
