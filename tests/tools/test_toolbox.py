"""One suite for all that offers tools: the fake, Moot's own, and servers by command and by address."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw, Struct

from moot.engine.boards import Boards
from moot.engine.insight_search import InsightSearch
from moot.engine.own_tools import OwnTools
from moot.model.tools import ToolInfo
from moot.store.discussions import Discussions
from moot.store.insights import Insights
from moot.store.vectors import Vectors
from moot.tools.arguments import misfit
from moot.tools.fake import FakeTool, FakeToolbox
from moot.tools.toolbox import Toolbox
from tests.store.people import ANNA, discuss, settled
from tests.tools.servers import at_an_address, by_address, by_command

KINDS = ("fake", "own", "command", "address")


class Case(Struct):
    """A toolbox, a call that it can make, and a part of what comes of it."""

    toolbox: Toolbox
    name: str
    arguments: dict[str, Any]
    comes: str


async def _look_up(arguments: Mapping[str, Any]) -> str:
    return f"{arguments['word']}: a meeting"


LOOK_UP = ToolInfo(
    name="look_up",
    description="Look a word up.",
    parameters=Raw(b'{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}'),
    effects=False,
)


@pytest.fixture(params=KINDS)
async def case(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Case]:
    found = Case(FakeToolbox(FakeTool(LOOK_UP, _look_up)), "look_up", {"word": "moot"}, "moot: a meeting")
    async with AsyncExitStack() as stack:
        match request.param:
            case "own":
                database = await stack.enter_async_context(settled("sqlite", tmp_path))
                here = await discuss(database)
                search = InsightSearch(Insights(database), Vectors(database))
                own = OwnTools(ANNA, here.id, Discussions(database), search, Boards(database))
                found = Case(own, "search_knowledge", {"words": "moot"}, "Nothing was found.")
            case "command":
                found.toolbox = by_command()
            case "address":
                found.toolbox = by_address(await stack.enter_async_context(at_an_address()))
        yield found
        await found.toolbox.aclose()


async def test_tools_are_listed_with_a_name_words_and_a_schema_that_their_arguments_fit(case: Case) -> None:
    tools = {info.name: info for info in await case.toolbox.tools()}
    assert all(info.description for info in tools.values())
    assert misfit(bytes(tools[case.name].parameters), case.arguments) is None
    assert misfit(bytes(tools[case.name].parameters), {})
    assert not tools[case.name].effects


async def test_a_call_comes_to_text(case: Case) -> None:
    outcome = await case.toolbox.call(case.name, case.arguments)
    assert (case.comes in outcome.content, outcome.is_error) == (True, False)


async def test_calls_are_made_side_by_side(case: Case) -> None:
    calls = [case.toolbox.call(case.name, case.arguments) for _ in range(5)]
    assert all(case.comes in outcome.content for outcome in await asyncio.gather(*calls))


async def test_a_tool_that_is_not_there_is_an_error_in_words(case: Case) -> None:
    outcome = await case.toolbox.call("fly", {})
    assert (outcome.is_error, "fly" in outcome.content) == (True, True)


async def test_wrong_arguments_are_an_error_in_words(case: Case) -> None:
    outcome = await case.toolbox.call(case.name, {"wrong": 1})
    assert outcome.is_error
    assert outcome.content


async def test_it_can_be_closed_before_it_was_used_and_twice(case: Case) -> None:
    await case.toolbox.aclose()
    await case.toolbox.aclose()
