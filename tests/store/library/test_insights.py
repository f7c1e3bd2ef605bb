import asyncio

import pytest

from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.library.insights import Insights
from moot.store.library.projects import Projects
from moot.types.errors import NotFound, UsageError
from moot.types.projects import Project, ProjectDraft
from tests.support.accounts import ANNA, BERT, create_accounts, create_discussion
from tests.support.insights import make_insight


@pytest.fixture
async def insights(database: Database) -> Insights:
    await create_accounts(database)
    return Insights(database)


@pytest.fixture
async def sample_project(insights: Insights, database: Database) -> Project:
    return await Projects(database).create_project(ANNA, ProjectDraft(name="Moot"))


async def test_save_export_stores_insights_and_discussion_summary(
    insights: Insights, sample_project: Project, database: Database
) -> None:
    about = await create_discussion(database, ANNA, "Hello", project=sample_project.id)
    pain = make_insight("It wobbles")
    saved = await insights.save_export(ANNA, about.id, "We met.", 0.8, [pain, make_insight("Wedge it")])
    assert [(one.title, one.discussion, one.project) for one in saved] == [
        ("It wobbles", about.id, sample_project.id),
        ("Wedge it", about.id, sample_project.id),
    ]
    assert await insights.discussion_insights(ANNA, about.id) == saved
    stored = await Discussions(database).get_discussion(ANNA, about.id)
    assert (stored.summary, stored.usefulness) == ("We met.", 0.8)
    assert stored.exported_at is not None
    assert stored.updated_at == about.updated_at


async def test_save_export_replaces_previous_insights(insights: Insights, database: Database) -> None:
    about, other = (
        await create_discussion(database, ANNA, "Hello"),
        await create_discussion(database, ANNA, "Hello"),
    )
    await insights.save_export(ANNA, other.id, "Else.", 0.1, [make_insight("Other")])
    await insights.save_export(ANNA, about.id, "We met.", 0.8, [make_insight("Old")])
    await insights.save_export(ANNA, about.id, "We met again.", 0.9, [make_insight("New")])
    assert [one.title for one in await insights.discussion_insights(ANNA, about.id)] == ["New"]
    assert [one.title for one in await insights.discussion_insights(ANNA, other.id)] == ["Other"]


async def test_concurrent_exports_do_not_duplicate_insights(insights: Insights, database: Database) -> None:
    about = await create_discussion(database, ANNA, "Hello")
    exports = ([make_insight(f"{n}a"), make_insight(f"{n}b")] for n in range(4))
    await asyncio.gather(*(insights.save_export(ANNA, about.id, "We met.", 0.8, found) for found in exports))
    assert len(await insights.discussion_insights(ANNA, about.id)) == 2


async def test_save_export_is_atomic(insights: Insights, database: Database) -> None:
    about = await create_discussion(database, ANNA, "Hello")
    await insights.save_export(ANNA, about.id, "We met.", 0.8, [make_insight("Kept")])
    twice = make_insight("Twice")
    with pytest.raises(Exception, match=r"(?i)unique"):
        await insights.save_export(ANNA, about.id, "Broken.", 0.1, [twice, twice])
    assert [one.title for one in await insights.discussion_insights(ANNA, about.id)] == ["Kept"]
    assert (await Discussions(database).get_discussion(ANNA, about.id)).summary == "We met."


async def test_insights_belong_to_their_tenant(insights: Insights, sample_project: Project, database: Database) -> None:
    about = await create_discussion(database, ANNA, "Hello", project=sample_project.id)
    (saved,) = await insights.save_export(ANNA, about.id, "We met.", 0.8, [make_insight("Kept")])
    with pytest.raises(NotFound):
        await insights.save_export(BERT, about.id, "Mine.", 0.1, [])
    with pytest.raises(NotFound):
        await insights.discussion_insights(BERT, about.id)
    assert (await insights.project_insights(BERT, sample_project.id)).insights == ()
    assert await insights.score_by_words(BERT, sample_project.id, "kept") == {}
    assert await insights.insights_by_ids(BERT, [saved.id]) == ()
    assert (await insights.project_insights(ANNA, sample_project.id)).insights == (saved,)


async def test_project_insights_are_paged_newest_first(
    insights: Insights, sample_project: Project, database: Database
) -> None:
    for name in ("a", "b", "c"):
        about = await create_discussion(database, ANNA, "Hello", project=sample_project.id)
        await insights.save_export(ANNA, about.id, "We met.", 0.8, [make_insight(f"{name}1"), make_insight(f"{name}2")])
    titles: list[str] = []
    cursor: str | None = None
    while True:
        page = await insights.project_insights(ANNA, sample_project.id, cursor=cursor, limit=4)
        titles += [one.title for one in page.insights]
        cursor = page.next
        if cursor is None:
            break
    assert titles == ["c2", "c1", "b2", "b1", "a2", "a1"]


@pytest.mark.parametrize("cursor", ["", "x", "-1", "1" * 19, "\0"])
async def test_project_insights_rejects_invalid_cursor(
    insights: Insights, sample_project: Project, cursor: str
) -> None:
    with pytest.raises(UsageError, match="cursor"):
        await insights.project_insights(ANNA, sample_project.id, cursor=cursor)


async def test_score_by_words_searches_title_detail_and_suggestion(
    insights: Insights, sample_project: Project, database: Database
) -> None:
    about = await create_discussion(database, ANNA, "Hello", project=sample_project.id)
    found = [
        make_insight("A table wobbles", "The floor is uneven and old, the legs are not, and so on it goes."),
        make_insight("Chairs", "They stand at the table."),
        make_insight("Lamps", "They hang.", suggestion="Hang one above the table."),
        make_insight("Doors", "They close."),
    ]
    saved = await insights.save_export(ANNA, about.id, "We met.", 0.8, found)
    scores = await insights.score_by_words(ANNA, sample_project.id, "tab")
    assert set(scores) == {one.id for one in saved[:3]}
    assert list(scores.values()) == sorted(scores.values(), reverse=True)
    assert list(await insights.score_by_words(ANNA, sample_project.id, "table uneven")) == [saved[0].id]
    for nothing in ("", "*", "\0"):
        assert await insights.score_by_words(ANNA, sample_project.id, nothing) == {}
    assert await insights.insights_by_ids(ANNA, [saved[3].id, "gone", saved[0].id]) == (saved[3], saved[0])
