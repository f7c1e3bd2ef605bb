import pytest

from moot.store.database import Database
from moot.store.library.insights import Insights, InsightVectors
from moot.store.library.projects import Projects
from moot.types.knowledge import Insight
from moot.types.projects import Project, ProjectDraft
from tests.support.accounts import ANNA, BERT, create_accounts, create_discussion
from tests.support.insights import make_insight


@pytest.fixture
async def vectors(database: Database) -> InsightVectors:
    await create_accounts(database)
    return InsightVectors(database)


@pytest.fixture
async def sample_project(vectors: InsightVectors, database: Database) -> Project:
    return await Projects(database).create_project(ANNA, ProjectDraft(name="Moot"))


@pytest.fixture
async def stored_insights(sample_project: Project, database: Database) -> tuple[Insight, ...]:
    about = await create_discussion(database, ANNA, "Hello", project=sample_project.id)
    return await Insights(database).save_export(ANNA, about.id, "We met.", 0.5, [make_insight("a"), make_insight("b")])


async def test_vectors_are_stored_per_model(
    vectors: InsightVectors, sample_project: Project, stored_insights: tuple[Insight, ...]
) -> None:
    a, b = stored_insights
    assert await vectors.insights_without_vectors(ANNA, sample_project.id, "one", 10) == (b, a)
    await vectors.add_vectors("one", {a.id: b"\1", b.id: b"\2"})
    await vectors.add_vectors("other", {a.id: b"\3"})
    assert await vectors.project_vectors(ANNA, sample_project.id, "one") == {a.id: b"\1", b.id: b"\2"}
    assert await vectors.project_vectors(ANNA, sample_project.id, "other") == {a.id: b"\3"}
    assert await vectors.insights_without_vectors(ANNA, sample_project.id, "one", 10) == ()
    assert await vectors.insights_without_vectors(ANNA, sample_project.id, "other", 10) == (b,)


async def test_insights_without_vectors_respects_limit(
    vectors: InsightVectors, sample_project: Project, stored_insights: tuple[Insight, ...]
) -> None:
    assert await vectors.insights_without_vectors(ANNA, sample_project.id, "one", 1) == (stored_insights[1],)


async def test_add_vectors_keeps_existing_vector_and_ignores_unknown_insight(
    vectors: InsightVectors, sample_project: Project, stored_insights: tuple[Insight, ...]
) -> None:
    await vectors.add_vectors("one", {stored_insights[0].id: b"\1"})
    await vectors.add_vectors("one", {stored_insights[0].id: b"\2", "insight_gone": b"\3"})
    assert await vectors.project_vectors(ANNA, sample_project.id, "one") == {stored_insights[0].id: b"\1"}


async def test_vector_is_deleted_with_its_insight(
    vectors: InsightVectors, sample_project: Project, stored_insights: tuple[Insight, ...], database: Database
) -> None:
    await vectors.add_vectors("one", {stored_insights[0].id: b"\1"})
    await Insights(database).save_export(ANNA, stored_insights[0].discussion, "Again.", 0.5, [])
    assert await vectors.project_vectors(ANNA, sample_project.id, "one") == {}


async def test_vectors_belong_to_their_tenant(
    vectors: InsightVectors, sample_project: Project, stored_insights: tuple[Insight, ...]
) -> None:
    await vectors.add_vectors("one", {stored_insights[0].id: b"\1"})
    assert await vectors.project_vectors(BERT, sample_project.id, "one") == {}
    assert await vectors.insights_without_vectors(BERT, sample_project.id, "one", 10) == ()
