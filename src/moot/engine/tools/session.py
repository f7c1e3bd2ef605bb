"""Tool session of a run: connects to tool servers on first use, shares them, and closes them at the end."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec import Struct

from moot.engine.tools.toolset import ApprovalPolicy, ToolBinding, Toolset
from moot.tools.toolbox import Toolbox
from moot.types.errors import MootError
from moot.types.participants import Participant

MAX_TOOLS = 128  # limit that every provider accepts


class ToolSource(Struct, frozen=True):
    """An open tool server."""

    toolbox: Toolbox
    is_trusted: Callable[[str], bool]  # by tool name: whether calls need no approval


class ParticipantTools(Struct, frozen=True):
    toolset: Toolset | None  # None if there are no tools
    problems: Sequence[str]  # messages about missing servers and tools


OpenToolSource = Callable[[str], Awaitable[ToolSource]]
CheckBudget = Callable[[float], Awaitable[str | None]]  # of the uncommitted cost; a message if the budget is spent


async def allow_any_cost(_: float) -> str | None:
    return None


class ToolSession:
    """A server that failed to start is not retried in this run, and its error is reported once."""

    def __init__(
        self,
        open_source: OpenToolSource,
        new_approval_policy: Callable[[], ApprovalPolicy],
        check_budget: CheckBudget = allow_any_cost,
    ) -> None:
        self.check_budget = check_budget
        self._open_source = open_source
        self._new_approval_policy = new_approval_policy
        self._sources: dict[str, ToolSource] = {}
        self._server_errors: dict[str, str] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def load_participant_tools(self, participant: Participant) -> ParticipantTools:
        """Connect to the participant's servers. A missing server or tool is a problem in the result, not an error."""
        requested = group_by_server(participant.tools)
        found = await asyncio.gather(*map(self._list_tools, requested))
        bindings: list[ToolBinding] = []
        problems: list[str] = []
        for (server, names), listed in zip(requested.items(), found, strict=True):
            if isinstance(listed, str):
                problems += [listed] if listed else []
                continue
            bindings += [binding for binding in listed if names is None or binding.info.name in names]
            missing = sorted((names or set()) - {binding.info.name for binding in listed})
            problems += [f"The tool server {server} has no tool {name}." for name in missing]
        toolset = Toolset(bindings[:MAX_TOOLS], self._new_approval_policy()) if bindings else None
        return ParticipantTools(toolset, problems)

    async def aclose(self) -> None:
        await asyncio.gather(*(source.toolbox.aclose() for source in self._sources.values()))

    async def _list_tools(self, server: str) -> list[ToolBinding] | str:
        """Return the tools of a server, or the error message; empty if it was reported before."""
        async with self._locks.setdefault(server, asyncio.Lock()):
            if server in self._server_errors:
                return ""
            try:
                source = self._sources.get(server) or await self._open_source(server)
                self._sources[server] = source
                tools = await source.toolbox.list_tools()
            except MootError as error:
                self._server_errors[server] = f"{error} Its tools are left out."
                return self._server_errors[server]
        toolbox, is_trusted = source.toolbox, source.is_trusted
        return [
            ToolBinding(title=f"{server}/{one.name}", info=one, toolbox=toolbox, trusted=is_trusted(one.name))
            for one in tools
        ]


def group_by_server(tools: Sequence[str]) -> Mapping[str, set[str] | None]:
    """Return tool names by server; None for all tools of a server."""
    by_server: dict[str, set[str] | None] = {}
    for one in tools:
        server, _, tool = one.partition("/")
        names = by_server.setdefault(server, set())
        if not tool:
            by_server[server] = None
        elif names is not None:
            names.add(tool)
    return by_server
