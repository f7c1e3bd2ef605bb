from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from moot.server.mcp import tools
from moot.server.mcp.tools import McpTools, ToolOutput
from moot.types.accounts import Caller
from moot.types.errors import NotFound, UsageError
from moot.types.knowledge import Insight
from tests.support.app_fixture import LocalApp, create_local_app
from tests.support.databases import open_migrated_database

OTHER_TENANT = Caller(account="x", tenant="elsewhere", name="x", kind="local")


async def _ignore_progress(_: float, __: str) -> None:
    pass


class ToolHarness:
    def __init__(self, local_app: LocalApp, caller: Caller) -> None:
        self.local_app = local_app
        self.tools: McpTools = local_app.services.mcp._tools
        self.caller = caller

    async def call(self, name: str, caller: Caller | None = None, /, **arguments: Any) -> ToolOutput:
        return await self.tools.call_tool(caller or self.caller, name, arguments, _ignore_progress)

    async def add_insight(self, project: str, title: str) -> None:
        """Store one insight in a project."""
        services = self.local_app.services
        opened = await self.local_app.create_discussion(project=project)
        found = Insight(
            id=f"ins_{title}",
            discussion=opened["discussion"]["id"],
            project=project,
            kind="decision",
            title=title,
            detail="Oak it is.",
            category="wood",
            suggestion="Buy some.",
            severity=None,
            answers_insight=None,
            messages=(),
            created_at=0.0,
        )
        await services.insights.save_export(self.caller.tenant, opened["discussion"]["id"], "s", 1.0, [found])


@pytest.fixture
async def tool_harness(tmp_path: Path) -> AsyncIterator[ToolHarness]:
    async with open_migrated_database("sqlite", tmp_path) as database, create_local_app(database) as local_app:
        yield ToolHarness(local_app, await local_app.services.accounts.ensure_local_account())


async def test_every_tool_has_strict_input_schema(tool_harness: ToolHarness) -> None:
    assert {name: list(tool.input_schema["properties"]) for name, tool in tool_harness.tools.by_name.items()} == {
        "ask": ["question", "preset", "models", "mode", "discussion", "max_cost_usd"],
        "list_presets": [],
        "list_discussions": ["q", "limit"],
        "read_discussion": ["discussion", "part"],
        "search_knowledge": ["q", "project", "limit"],
    }
    assert [name for name, tool in tool_harness.tools.by_name.items() if not tool.read_only] == ["ask"]
    for tool in tool_harness.tools.by_name.values():
        assert (tool.input_schema["type"], tool.input_schema["additionalProperties"]) == ("object", False)
        assert "$ref" not in str(tool.input_schema)


async def test_unknown_tool_error_lists_existing_tools(tool_harness: ToolHarness) -> None:
    with pytest.raises(NotFound, match=r"There is no tool 'shout'\. Use one of ask, list_presets"):
        await tool_harness.call("shout")


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("ask", {}, "question: It is missing."),
        ("ask", {"question": ""}, "question: Expected `str` of length >= 1."),
        ("ask", {"question": 1}, "question: Expected `str`, got `int`."),
        ("ask", {"question": "x", "mode": "shout"}, "mode: Invalid enum value 'shout'. Use one of advisors"),
        ("ask", {"question": "x", "models": ["echo"]}, r"models\[0\]: Write provider/model"),
        ("ask", {"question": "x", "loud": True}, "loud: There is no such field; known are question"),
        ("list_discussions", {"limit": 0}, "limit: Expected `int` >= 1."),
    ],
)
async def test_invalid_arguments_are_rejected_by_field(
    tool_harness: ToolHarness, name: str, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        await tool_harness.call(name, **arguments)


async def test_nul_characters_in_arguments_are_removed(tool_harness: ToolHarness) -> None:
    assert (await tool_harness.call("list_discussions", q="what\0ever")).data == {"discussions": []}


async def test_list_discussions_lists_and_searches_own_discussions(tool_harness: ToolHarness) -> None:
    first = (await tool_harness.local_app.create_discussion(message="Which wood?"))["discussion"]["id"]
    second = (await tool_harness.local_app.create_discussion(message="Which nails?"))["discussion"]["id"]
    listed = await tool_harness.call("list_discussions")
    assert [one["id"] for one in listed.data["discussions"]] == [second, first]
    found = await tool_harness.call("list_discussions", q="wood")
    assert found.text.startswith(
        f"- Which wood? ({first}): parallel, Alpha on scripted/echo, Beta on scripted/steady, "
    )
    assert (await tool_harness.call("list_discussions", OTHER_TENANT)).text == "There is no such discussion."


async def test_read_discussion_returns_markdown(tool_harness: ToolHarness) -> None:
    opened = await tool_harness.local_app.create_discussion()
    await tool_harness.local_app.record_answer(opened["run"]["id"], "A meeting.")
    read = await tool_harness.call("read_discussion", discussion=opened["discussion"]["id"])
    assert read.text.startswith("# What is a moot?\n")
    assert "A meeting." in read.text
    with pytest.raises(NotFound):
        await tool_harness.call("read_discussion", OTHER_TENANT, discussion=opened["discussion"]["id"])


async def test_read_discussion_returns_long_discussion_in_parts(
    tool_harness: ToolHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = await tool_harness.local_app.create_discussion()
    await tool_harness.local_app.record_answer(opened["run"]["id"], "A meeting.")
    id = opened["discussion"]["id"]
    whole = (await tool_harness.call("read_discussion", discussion=id)).text
    monkeypatch.setattr(tools, "PART_CHARS", 50)
    first = await tool_harness.call("read_discussion", discussion=id)
    parts = first.data["parts"]
    assert first.text == f"{whole[:50]}\n\n[Part 1 of {parts}. Continue with part 2.]"
    last = await tool_harness.call("read_discussion", discussion=id, part=parts)
    assert whole.endswith(last.text)
    with pytest.raises(UsageError, match=f"The last part of this discussion is {parts}"):
        await tool_harness.call("read_discussion", discussion=id, part=parts + 1)


async def test_list_presets_lists_own_presets(tool_harness: ToolHarness) -> None:
    assert (await tool_harness.call("list_presets")).text == "There are no presets yet. Ask models instead."
    preset = await tool_harness.local_app.call_ok(
        "POST", "/api/presets", {"name": "Woodwork", "participants": ["scripted/echo"]}
    )
    assert (
        await tool_harness.call("list_presets")
    ).text == f"- Woodwork ({preset['id']}): single, Alpha on scripted/echo"
    assert (await tool_harness.call("list_presets", OTHER_TENANT)).data == {"presets": ()}


async def test_search_knowledge_searches_all_projects_or_one(tool_harness: ToolHarness) -> None:
    house, shed = [
        (await tool_harness.local_app.call_ok("POST", "/api/projects", {"name": name}))["id"]
        for name in ("House", "Shed")
    ]
    await tool_harness.add_insight(house, "Beams")
    await tool_harness.add_insight(shed, "Planks")
    everywhere = await tool_harness.call("search_knowledge", q="oak")
    assert {one.title for one in everywhere.data["insights"]} == {"Beams", "Planks"}
    assert len((await tool_harness.call("search_knowledge", q="oak", limit=1)).data["insights"]) == 1
    reply = await tool_harness.call("search_knowledge", q="oak", project="shed")
    assert reply.text.startswith("- Planks (decision, discussion dis_")
    assert reply.text.endswith("): Oak it is. Buy some.")
    assert (await tool_harness.call("search_knowledge", OTHER_TENANT, q="oak")).text == "No insights match."
    with pytest.raises(NotFound, match="project: there is no project 'Barn'"):
        await tool_harness.call("search_knowledge", q="oak", project="Barn")


async def test_ask_without_participants_is_rejected(tool_harness: ToolHarness) -> None:
    with pytest.raises(UsageError, match="Name exactly one of"):
        await tool_harness.call("ask", question="What is a moot?")
