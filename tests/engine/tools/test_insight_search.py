from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.engine.tools.insight_search import (
    MAX_EMBEDDED_PER_SEARCH,
    InsightSearch,
    cosine_similarities,
    pack_vector,
    rank_by_score,
)
from moot.store.database import Database
from moot.store.library.insights import Insights, InsightVectors
from moot.store.library.projects import Projects
from moot.types.errors import ProviderError
from moot.types.faults import make_fault
from moot.types.projects import Project, ProjectDraft
from tests.support.accounts import ANNA, BERT, create_discussion, database_with_accounts
from tests.support.databases import SLOW_ON_POSTGRES
from tests.support.insights import make_insight

SCORES = st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 1, allow_subnormal=False))


class VowelEmbedder:
    """An embedder that gives texts with the same vowels the same vector, and records its requests."""

    name = "test/letters"

    def __init__(self, *, broken: bool = False) -> None:
        self.requests: list[list[str]] = []
        self.broken = broken

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.requests.append(list(texts))
        if self.broken:
            raise ProviderError(make_fault("network", "Nothing answers."))
        return [[float(text.lower().count(vowel)) for vowel in "aeiou"] for text in texts]


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with database_with_accounts(request.param, tmp_path) as database:
        yield database


@pytest.fixture
async def project(database: Database) -> Project:
    return await Projects(database).create_project(ANNA, ProjectDraft(name="Moot"))


async def add_insights(database: Database, project: str, *titles: str) -> None:
    about = await create_discussion(database, ANNA, "Hello", project=project)
    found = [make_insight(title, "zzz") for title in titles]
    await Insights(database).save_export(ANNA, about.id, "We met.", 0.5, found)


def create_search(database: Database, embedder: VowelEmbedder | None = None) -> InsightSearch:
    return InsightSearch(Insights(database), InsightVectors(database), embedder)


async def search_titles(insight_search: InsightSearch, project: str, query: str, limit: int = 10) -> list[str]:
    return [one.title for one in await insight_search.search_insights(ANNA, project, query, limit)]


async def test_search_insights_uses_keywords_without_embedder(database: Database, project: Project) -> None:
    await add_insights(database, project.id, "banana", "bandana", "kiwi")
    assert set(await search_titles(create_search(database), project.id, "ban")) == {"banana", "bandana"}
    assert await search_titles(create_search(database), project.id, "mango") == []
    assert len(await search_titles(create_search(database), project.id, "ban", limit=1)) == 1


async def test_search_insights_weights_vectors_over_keywords(database: Database, project: Project) -> None:
    await add_insights(database, project.id, "kiwi", "salad", "ananas")
    searching = create_search(database, VowelEmbedder())
    assert set(await search_titles(searching, project.id, "banana", limit=2)) == {"salad", "ananas"}
    assert await search_titles(searching, project.id, "salad", limit=1) == ["salad"]
    assert await search_titles(searching, project.id, "ananas", limit=1) == ["ananas"]


async def test_search_insights_embeds_insights_once_on_first_search(database: Database, project: Project) -> None:
    await add_insights(database, project.id, "kiwi", "banana")
    embedder = VowelEmbedder()
    for _ in range(2):
        await search_titles(create_search(database, embedder), project.id, "mango")
    assert embedder.requests == [["mango", "banana\nzzz", "kiwi\nzzz"], ["mango"]]


async def test_search_insights_embeds_many_insights_in_batches(database: Database, project: Project) -> None:
    await add_insights(database, project.id, *(f"insight {n}" for n in range(MAX_EMBEDDED_PER_SEARCH + 1)))
    embedder = VowelEmbedder()
    for _ in range(3):
        await search_titles(create_search(database, embedder), project.id, "mango")
    assert [len(texts) - 1 for texts in embedder.requests] == [MAX_EMBEDDED_PER_SEARCH, 1, 0]


async def test_search_insights_falls_back_to_keywords_when_embedder_fails(
    database: Database, project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    await add_insights(database, project.id, "banana", "kiwi")
    assert await search_titles(create_search(database, VowelEmbedder(broken=True)), project.id, "banana") == ["banana"]
    assert "keywords only" in caplog.text


async def test_search_insights_hides_insights_of_other_tenants(database: Database, project: Project) -> None:
    await add_insights(database, project.id, "banana")
    assert await create_search(database, VowelEmbedder()).search_insights(BERT, project.id, "banana", 10) == ()


def test_rank_by_score_weights_vectors_70_and_keywords_30_percent() -> None:
    assert rank_by_score({"words": 5.0, "both": 2.5}, {"both": 0.5, "meaning": 0.6}) == [
        "both",
        "meaning",
        "words",
    ]
    assert rank_by_score({"a": 1.0}, {"b": 0.42}) == ["a", "b"]
    assert rank_by_score({"a": 1.0}, {"b": 0.43}) == ["b", "a"]
    assert rank_by_score({}, {}) == []


@given(SCORES, SCORES)
def test_rank_by_score_returns_every_result_once(by_words: dict[str, float], by_meaning: dict[str, float]) -> None:
    order = rank_by_score(by_words, by_meaning)
    assert sorted(order) == sorted(by_words.keys() | by_meaning.keys())


@given(SCORES)
def test_rank_by_score_keeps_keyword_order_without_vectors(by_words: dict[str, float]) -> None:
    order = [by_words[found] for found in rank_by_score(by_words, {})]
    assert order == sorted(order, reverse=True)


def test_cosine_similarities_compare_vectors_by_angle() -> None:
    stored = {
        "same": pack_vector([3.0, 4.0]),
        "between": pack_vector([1.0, 0.0]),
        "across": pack_vector([4.0, -3.0]),
        "against": pack_vector([-3.0, -4.0]),
        "of another size": pack_vector([3.0, 4.0, 0.0]),
        "nothing": pack_vector([0.0, 0.0]),
    }
    assert cosine_similarities(pack_vector([30.0, 40.0]), stored) == {
        "same": pytest.approx(1.0),
        "between": pytest.approx(0.6),
        "across": pytest.approx(0.0, abs=1e-6),
        "against": 0.0,
        "nothing": 0.0,
    }
