from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moot.engine.tools.builtin import BuiltinTools
from moot.engine.tools.insight_search import InsightSearch
from moot.engine.whiteboards import Whiteboards
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions, add_message
from moot.store.library.insights import Insights, InsightVectors
from moot.store.library.projects import Projects
from moot.types.discussions import Message
from moot.types.knowledge import Insight
from moot.types.primitives import new_id
from moot.types.projects import ProjectDraft
from tests.support.accounts import ANNA, BERT, create_discussion, database_with_accounts
from tests.support.stores import make_stores

INSIGHT = Insight(
    id="insight_1",
    discussion="",
    project=None,
    kind="decision",
    title="Round tables",
    detail="They have no head.",
    category="furniture",
    suggestion="Buy one.",
    severity="low",
    answers_insight=None,
    messages=(),
    created_at=1.0,
)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with database_with_accounts("sqlite", tmp_path) as database:
        yield database


def create_builtin_tools(database: Database, discussion: str, tenant: str = ANNA) -> BuiltinTools:
    search = InsightSearch(Insights(database), InsightVectors(database))
    return BuiltinTools(tenant, discussion, Discussions(database), search, Whiteboards(make_stores(database)))


async def call_tool(builtin_tools: BuiltinTools, name: str, **arguments: str) -> str:
    return (await builtin_tools.call_tool(name, arguments)).content


async def test_search_knowledge_covers_own_project_or_all_projects(database: Database) -> None:
    projects = Projects(database)
    mine, other = [(await projects.create_project(ANNA, ProjectDraft(name=name))).id for name in "ab"]
    source = await create_discussion(database, project=mine)
    await Insights(database).save_export(ANNA, source.id, "", 1.0, [INSIGHT])
    found = f"Round tables (decision, from the discussion {source.id})\nThey have no head. Buy one."
    for project, comes in ((mine, found), (None, found), (other, "Nothing was found.")):
        own = create_builtin_tools(database, (await create_discussion(database, project=project)).id)
        assert (await call_tool(own, "search_knowledge", query="round")).startswith(comes)
    stranger = create_builtin_tools(database, (await create_discussion(database, BERT)).id, BERT)
    assert "Nothing was found." in await call_tool(stranger, "search_knowledge", query="round")


async def test_read_discussion_accepts_id_or_title(database: Database) -> None:
    current = await create_discussion(database, title="Here")
    other = await create_discussion(database, ANNA, "Why a table?", "For sitting.", title="Chairs and tables")
    own = create_builtin_tools(database, current.id)
    for reference in (other.id, "chairs"):
        text = await call_tool(own, "read_discussion", discussion=reference)
        assert text.startswith("Chairs and tables\n\n")
        assert "Why a table?" in text
        assert "For sitting." in text


async def test_read_discussion_omits_private_messages(database: Database) -> None:
    other = await create_discussion(database, ANNA, "Openly.", title="Secrets")
    private = Message(
        id=new_id("msg"),
        discussion=other.id,
        role="user",
        content="Quietly.",
        visible_to=("alpha",),
        created_at=1.0,
    )
    async with database.write() as connection:
        await add_message(connection, ANNA, private)
    text = await call_tool(
        create_builtin_tools(database, (await create_discussion(database)).id),
        "read_discussion",
        discussion=other.id,
    )
    assert ("Openly." in text, "Quietly." in text) == (True, False)


async def test_read_discussion_rejects_foreign_and_current_discussion(database: Database) -> None:
    current, foreign = (
        await create_discussion(database),
        await create_discussion(database, BERT, "Mine.", title="Berts"),
    )
    own = create_builtin_tools(database, current.id)
    for reference in (foreign.id, "Berts", "", "nothing of the kind"):
        outcome = await own.call_tool("read_discussion", {"discussion": reference})
        assert (outcome.is_error, "There is no discussion" in outcome.content) == (True, True)
    outcome = await own.call_tool("read_discussion", {"discussion": current.id})
    assert outcome.content == "This is the discussion that you are in."


async def test_read_discussion_lists_ids_when_title_is_ambiguous(database: Database) -> None:
    ids = [(await create_discussion(database, title=f"Tables {n}")).id for n in range(2)]
    own = create_builtin_tools(database, (await create_discussion(database, title="Here")).id)
    outcome = await own.call_tool("read_discussion", {"discussion": "tables"})
    assert outcome.is_error
    assert all(id in outcome.content for id in ids)


async def test_read_whiteboard_is_available_in_lessons_only(database: Database) -> None:
    plain = await create_discussion(database)
    assert [info.name for info in await create_builtin_tools(database, plain.id).list_tools()] == [
        "search_knowledge",
        "read_discussion",
    ]
    await Discussions(database).update_discussion(ANNA, plain.id, {"mode": "directed"})
    own = create_builtin_tools(database, plain.id)
    assert [info.name for info in await own.list_tools()][-1] == "read_whiteboard"
    assert "The whiteboard" in await call_tool(own, "read_whiteboard")


async def test_builtin_tools_have_no_effects(database: Database) -> None:
    await Discussions(database).update_discussion(
        ANNA, (current := await create_discussion(database)).id, {"mode": "directed"}
    )
    assert not any(info.has_effects for info in await create_builtin_tools(database, current.id).list_tools())
