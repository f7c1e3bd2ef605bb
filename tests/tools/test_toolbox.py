"""One suite for all toolboxes: the fake, Moot's own, and servers by command and by URL."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw, Struct

from moot.engine.tools.builtin import BuiltinTools
from moot.engine.tools.insight_search import InsightSearch
from moot.engine.whiteboards import Whiteboards
from moot.store.discussions.discussions import Discussions
from moot.store.library.insights import Insights, InsightVectors
from moot.tools.toolbox import Toolbox, find_argument_problem
from moot.types.tools import ToolInfo
from tests.support.accounts import ANNA, create_discussion, database_with_accounts
from tests.support.fake_toolbox import FakeTool, FakeToolbox
from tests.support.stores import make_stores
from tests.support.tool_servers import http_toolbox, serve_http_tools, stdio_toolbox

TOOLBOX_KINDS = ("fake", "own", "command", "address")


class ToolboxCase(Struct):
    """A toolbox, a valid call, and a part of the expected result."""

    toolbox: Toolbox
    name: str
    arguments: dict[str, Any]
    expected_text: str


async def _look_up(arguments: Mapping[str, Any]) -> str:
    return f"{arguments['word']}: a meeting"


LOOK_UP = ToolInfo(
    name="look_up",
    description="Look a word up.",
    parameters=Raw(b'{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}'),
    has_effects=False,
)


@pytest.fixture(params=TOOLBOX_KINDS)
async def case(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ToolboxCase]:
    found = ToolboxCase(FakeToolbox(FakeTool(LOOK_UP, _look_up)), "look_up", {"word": "moot"}, "moot: a meeting")
    async with AsyncExitStack() as stack:
        match request.param:
            case "own":
                database = await stack.enter_async_context(database_with_accounts("sqlite", tmp_path))
                discussion = await create_discussion(database)
                search = InsightSearch(Insights(database), InsightVectors(database))
                own = BuiltinTools(
                    ANNA, discussion.id, Discussions(database), search, Whiteboards(make_stores(database))
                )
                found = ToolboxCase(own, "search_knowledge", {"query": "moot"}, "Nothing was found.")
            case "command":
                found.toolbox = stdio_toolbox()
            case "address":
                found.toolbox = http_toolbox(await stack.enter_async_context(serve_http_tools()))
        yield found
        await found.toolbox.aclose()


async def test_toolbox_lists_tools_with_description_and_schema(
    case: ToolboxCase,
) -> None:
    tools = {info.name: info for info in await case.toolbox.list_tools()}
    assert all(info.description for info in tools.values())
    assert find_argument_problem(bytes(tools[case.name].parameters), case.arguments) is None
    assert find_argument_problem(bytes(tools[case.name].parameters), {})
    assert not tools[case.name].has_effects


async def test_toolbox_call_returns_text(case: ToolboxCase) -> None:
    outcome = await case.toolbox.call_tool(case.name, case.arguments)
    assert (case.expected_text in outcome.content, outcome.is_error) == (True, False)


async def test_toolbox_calls_run_concurrently(case: ToolboxCase) -> None:
    calls = [case.toolbox.call_tool(case.name, case.arguments) for _ in range(5)]
    assert all(case.expected_text in outcome.content for outcome in await asyncio.gather(*calls))


async def test_unknown_tool_is_error_outcome(case: ToolboxCase) -> None:
    outcome = await case.toolbox.call_tool("fly", {})
    assert (outcome.is_error, "fly" in outcome.content) == (True, True)


async def test_invalid_arguments_are_error_outcome(case: ToolboxCase) -> None:
    outcome = await case.toolbox.call_tool(case.name, {"wrong": 1})
    assert outcome.is_error
    assert outcome.content


async def test_toolbox_can_be_closed_unused_and_twice(case: ToolboxCase) -> None:
    await case.toolbox.aclose()
    await case.toolbox.aclose()


SCHEMA = {
    "type": "object",
    "properties": {"word": {"type": "string"}, "times": {"type": "integer", "minimum": 1}},
    "required": ["word"],
    "additionalProperties": False,
}


def argument_problem(schema: dict[str, Any], arguments: Any) -> str | None:
    return find_argument_problem(msgspec.json.encode(schema), arguments)


def test_find_argument_problem_accepts_valid_arguments() -> None:
    assert argument_problem(SCHEMA, {"word": "moot", "times": 2}) is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "'word' is a required property"),
        ({"word": 1}, "word: 1 is not of type 'string'"),
        ({"word": "a", "times": 0}, "times: 0 is less than the minimum"),
        ({"word": "a", "more": 1}, "'more' was unexpected"),
    ],
)
def test_find_argument_problem_describes_invalid_arguments(arguments: Any, words: str) -> None:
    assert words in (argument_problem(SCHEMA, arguments) or "")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}},
        {"type": "nonsense"},
        {"properties": "nonsense"},
        {"type": "object", "properties": {"a": {"pattern": "^(a+)+$"}}},
    ],
)
def test_find_argument_problem_ignores_invalid_remote_and_slow_schemas(
    schema: dict[str, Any],
) -> None:
    assert argument_problem(schema, {"a": "a" * 60 + "!"}) is None
