from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from moot.server.mcp import tools
from moot.server.mcp.tools import McpTools, ToolOutput
from moot.types.accounts import Caller
from moot.types.errors import NotFound, UsageError
from moot.types.knowledge import Insight
from tests.databases import migrated
from tests.server.talking import Talking, talking

STRANGER = Caller(account="x", tenant="elsewhere", name="x", kind="local")


async def _nobody(_: float, __: str) -> None:
    """Nobody listens."""


class Desk:
    def __init__(self, talking: Talking, caller: Caller) -> None:
        self.talking = talking
        self.tools: McpTools = talking.house.mcp._tools
        self.caller = caller

    async def call(self, name: str, caller: Caller | None = None, /, **arguments: Any) -> ToolOutput:
        return await self.tools.call_tool(caller or self.caller, name, arguments, _nobody)

    async def known(self, project: str, title: str) -> None:
        """Let something be known of a project."""
        house = self.talking.house
        opened = await self.talking.open(project=project)
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
            paired=None,
            messages=(),
            created_at=0.0,
        )
        await house.insights.save_export(self.caller.tenant, opened["discussion"]["id"], "s", 1.0, [found])


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with migrated("sqlite", tmp_path) as database, talking(database) as talks:
        yield Desk(talks, await talks.house.accounts.ensure_local_account())


async def test_every_tool_says_what_it_takes(desk: Desk) -> None:
    assert {name: list(tool.input_schema["properties"]) for name, tool in desk.tools.by_name.items()} == {
        "ask": ["question", "line_up", "models", "mode", "discussion", "cap"],
        "list_line_ups": [],
        "list_discussions": ["q", "limit"],
        "read_discussion": ["discussion", "part"],
        "search_knowledge": ["q", "project", "limit"],
    }
    assert [name for name, tool in desk.tools.by_name.items() if not tool.read_only] == ["ask"]
    for tool in desk.tools.by_name.values():
        assert (tool.input_schema["type"], tool.input_schema["additionalProperties"]) == ("object", False)
        assert "$ref" not in str(tool.input_schema)


async def test_a_tool_that_is_not_there_is_told_with_those_that_are(desk: Desk) -> None:
    with pytest.raises(NotFound, match="There is no tool 'shout': there are ask, list_line_ups"):
        await desk.call("shout")


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("ask", {}, "question: It is missing."),
        ("ask", {"question": ""}, "question: It must not be empty."),
        ("ask", {"question": 1}, "question: It must be text."),
        ("ask", {"question": "x", "mode": "shout"}, "mode: 'shout' is none of advisors"),
        ("ask", {"question": "x", "models": ["echo"]}, r"models\[0\]: Write provider/model"),
        ("ask", {"question": "x", "loud": True}, "loud: There is no such field; known are question"),
        ("list_discussions", {"limit": 0}, "limit: It must be at least 1."),
    ],
)
async def test_what_does_not_fit_is_told_in_words(
    desk: Desk, name: str, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        await desk.call(name, **arguments)


async def test_no_nul_character_gets_anywhere(desk: Desk) -> None:
    assert (await desk.call("list_discussions", q="what\0ever")).data == {"discussions": []}


async def test_discussions_are_listed_and_found_by_their_words(desk: Desk) -> None:
    first = (await desk.talking.open(message="Which wood?"))["discussion"]["id"]
    second = (await desk.talking.open(message="Which nails?"))["discussion"]["id"]
    listed = await desk.call("list_discussions")
    assert [one["id"] for one in listed.data["discussions"]] == [second, first]
    found = await desk.call("list_discussions", q="wood")
    assert found.text.startswith(
        f"- Which wood? ({first}): parallel, Alpha on scripted/echo, Beta on scripted/steady, "
    )
    assert (await desk.call("list_discussions", STRANGER)).text == "There is no such discussion."


async def test_a_discussion_is_read_as_markdown(desk: Desk) -> None:
    opened = await desk.talking.open()
    await desk.talking.answer(opened["run"]["id"], "A meeting.")
    read = await desk.call("read_discussion", discussion=opened["discussion"]["id"])
    assert read.text.startswith("# What is a moot?\n")
    assert "A meeting." in read.text
    with pytest.raises(NotFound):
        await desk.call("read_discussion", STRANGER, discussion=opened["discussion"]["id"])


async def test_a_long_discussion_is_read_in_parts(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = await desk.talking.open()
    await desk.talking.answer(opened["run"]["id"], "A meeting.")
    id = opened["discussion"]["id"]
    whole = (await desk.call("read_discussion", discussion=id)).text
    monkeypatch.setattr(tools, "PART", 50)
    first = await desk.call("read_discussion", discussion=id)
    parts = first.data["parts"]
    assert first.text == f"{whole[:50]}\n\n[Part 1 of {parts}: ask for part 2.]"
    last = await desk.call("read_discussion", discussion=id, part=parts)
    assert whole.endswith(last.text)
    with pytest.raises(UsageError, match=f"part: this discussion has {parts}"):
        await desk.call("read_discussion", discussion=id, part=parts + 1)


async def test_line_ups_are_listed(desk: Desk) -> None:
    assert (await desk.call("list_line_ups")).text == "There is no line-up yet: ask models instead."
    kept = await desk.talking.ok(
        "POST", "/api/line-ups", {"name": "Woodwork", "participants": ["scripted/echo"]}
    )
    assert (
        await desk.call("list_line_ups")
    ).text == f"- Woodwork ({kept['id']}): single, Alpha on scripted/echo"
    assert (await desk.call("list_line_ups", STRANGER)).data == {"line_ups": ()}


async def test_what_is_known_is_found_in_all_projects_or_one(desk: Desk) -> None:
    house, shed = [
        (await desk.talking.ok("POST", "/api/projects", {"name": name}))["id"] for name in ("House", "Shed")
    ]
    await desk.known(house, "Beams")
    await desk.known(shed, "Planks")
    everywhere = await desk.call("search_knowledge", q="oak")
    assert {one.title for one in everywhere.data["insights"]} == {"Beams", "Planks"}
    assert len((await desk.call("search_knowledge", q="oak", limit=1)).data["insights"]) == 1
    here = await desk.call("search_knowledge", q="oak", project="shed")
    assert here.text.startswith("- Planks (decision, discussion dis_")
    assert here.text.endswith("): Oak it is. Buy some.")
    assert (await desk.call("search_knowledge", STRANGER, q="oak")).text == "Nothing is known of that."
    with pytest.raises(NotFound, match="project: nothing is called 'Barn'"):
        await desk.call("search_knowledge", q="oak", project="Barn")


async def test_a_question_that_nobody_answers_is_an_error(desk: Desk) -> None:
    with pytest.raises(UsageError, match="Say who is asked"):
        await desk.call("ask", question="What is a moot?")
