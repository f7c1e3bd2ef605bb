import pytest

from moot.store.database import Database
from moot.store.library.insights import Insights, InsightVectors
from moot.store.library.projects import Projects
from moot.types.knowledge import Insight
from moot.types.projects import Project, ProjectDraft
from tests.store.finding import insight
from tests.store.people import ANNA, BERT, discuss, settle


@pytest.fixture
async def vectors(database: Database) -> InsightVectors:
    await settle(database)
    return InsightVectors(database)


@pytest.fixture
async def moot(vectors: InsightVectors, database: Database) -> Project:
    return await Projects(database).create_project(ANNA, ProjectDraft(name="Moot"))


@pytest.fixture
async def kept(moot: Project, database: Database) -> tuple[Insight, ...]:
    about = await discuss(database, ANNA, "Hello", project=moot.id)
    return await Insights(database).save_export(ANNA, about.id, "We met.", 0.5, [insight("a"), insight("b")])


async def test_vectors_are_those_of_one_model(
    vectors: InsightVectors, moot: Project, kept: tuple[Insight, ...]
) -> None:
    a, b = kept
    assert await vectors.insights_without_vectors(ANNA, moot.id, "one", 10) == (b, a)
    await vectors.add_vectors("one", {a.id: b"\1", b.id: b"\2"})
    await vectors.add_vectors("other", {a.id: b"\3"})
    assert await vectors.project_vectors(ANNA, moot.id, "one") == {a.id: b"\1", b.id: b"\2"}
    assert await vectors.project_vectors(ANNA, moot.id, "other") == {a.id: b"\3"}
    assert await vectors.insights_without_vectors(ANNA, moot.id, "one", 10) == ()
    assert await vectors.insights_without_vectors(ANNA, moot.id, "other", 10) == (b,)


async def test_only_so_many_are_asked_for_at_a_time(
    vectors: InsightVectors, moot: Project, kept: tuple[Insight, ...]
) -> None:
    assert await vectors.insights_without_vectors(ANNA, moot.id, "one", 1) == (kept[1],)


async def test_a_vector_that_is_there_stays_and_one_without_an_insight_is_dropped(
    vectors: InsightVectors, moot: Project, kept: tuple[Insight, ...]
) -> None:
    await vectors.add_vectors("one", {kept[0].id: b"\1"})
    await vectors.add_vectors("one", {kept[0].id: b"\2", "insight_gone": b"\3"})
    assert await vectors.project_vectors(ANNA, moot.id, "one") == {kept[0].id: b"\1"}


async def test_a_vector_goes_with_its_insight(
    vectors: InsightVectors, moot: Project, kept: tuple[Insight, ...], database: Database
) -> None:
    await vectors.add_vectors("one", {kept[0].id: b"\1"})
    await Insights(database).save_export(ANNA, kept[0].discussion, "Again.", 0.5, [])
    assert await vectors.project_vectors(ANNA, moot.id, "one") == {}


async def test_vectors_are_their_tenants(
    vectors: InsightVectors, moot: Project, kept: tuple[Insight, ...]
) -> None:
    await vectors.add_vectors("one", {kept[0].id: b"\1"})
    assert await vectors.project_vectors(BERT, moot.id, "one") == {}
    assert await vectors.insights_without_vectors(BERT, moot.id, "one", 10) == ()
