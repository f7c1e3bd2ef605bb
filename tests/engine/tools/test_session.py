import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from moot.engine.tools.session import ToolSession, ToolSource, allow_any_cost, group_by_server
from moot.engine.tools.toolset import DenyAllApprovals
from moot.types.errors import FeatureUnavailable, NotFound
from moot.types.participants import Participant
from moot.types.tools import ToolInfo
from tests.support.fake_toolbox import FakeTool, FakeToolbox
from tests.support.toolset_harness import look_up

ALPHA = Participant("alpha", "Alpha", "scripted/echo")


class BrokenToolbox(FakeToolbox):
    async def list_tools(self) -> Sequence[ToolInfo]:
        raise FeatureUnavailable("The tool server broken did not start within 45 s.")


class SessionHarness:
    def __init__(self) -> None:
        read, write = (FakeTool(ToolInfo(name=name), look_up) for name in ("read", "write"))
        self.toolboxes = {"notes": FakeToolbox(read, write), "broken": BrokenToolbox()}
        self.opened_servers: list[str] = []
        self.tool_session = ToolSession(self._open_source, DenyAllApprovals)

    async def _open_source(self, server: str) -> ToolSource:
        self.opened_servers.append(server)
        if server not in self.toolboxes:
            raise NotFound(f"There is no tool server {server!r} any more.")
        return ToolSource(self.toolboxes[server], lambda tool: tool == "read")

    async def load_tools(self, *tools: str) -> tuple[list[str], list[str]]:
        toolset = await self.tool_session.load_participant_tools(replace(ALPHA, tools=tools))
        offered = toolset.toolset.tool_definitions if toolset.toolset else ()
        return [tool.name for tool in offered], list(toolset.problems)


async def test_participant_receives_only_tools_it_names() -> None:
    harness = SessionHarness()
    assert await harness.load_tools("notes") == (["notes__read", "notes__write"], [])
    assert await harness.load_tools("notes/write") == (["notes__write"], [])
    assert await harness.load_tools("notes/write", "notes") == (["notes__read", "notes__write"], [])
    assert await harness.load_tools() == ([], [])
    assert harness.opened_servers == ["notes"]


async def test_failed_server_is_skipped_and_reported_once() -> None:
    harness = SessionHarness()
    words = "The tool server broken did not start within 45 s. Its tools are left out."
    assert await harness.load_tools("broken", "notes/read", "gone") == (
        ["notes__read"],
        [words, "There is no tool server 'gone' any more. Its tools are left out."],
    )
    assert await harness.load_tools("broken", "notes/read") == (["notes__read"], [])
    assert harness.opened_servers.count("broken") == 1


async def test_unknown_tool_of_server_is_reported() -> None:
    assert await SessionHarness().load_tools("notes/fly") == ([], ["The tool server notes has no tool fly."])


async def test_participants_share_server_and_session_closes_it() -> None:
    harness = SessionHarness()
    await asyncio.gather(*(harness.load_tools("notes") for _ in range(5)))
    assert harness.opened_servers == ["notes"]
    await harness.tool_session.aclose()
    assert harness.toolboxes["notes"].closed


def test_group_by_server_merges_tools_per_server() -> None:
    assert group_by_server(("a/b", "c", "a/d", "c/e")) == {"a": {"b", "d"}, "c": None}


async def test_allow_any_cost_never_reports_spent_budget() -> None:
    assert await allow_any_cost(1000.0) is None
