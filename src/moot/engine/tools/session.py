"""The tools of one run: servers are opened when somebody needs them, shared by all, and closed at the end."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec import Struct

from moot.engine.tools.approval_policy import ApprovalPolicy
from moot.engine.tools.toolset import ToolBinding, Toolset
from moot.tools.toolbox import Toolbox
from moot.types.errors import MootError
from moot.types.participants import Participant
from moot.types.tools import ToolInfo

MAX_TOOLS = 128  # that every provider takes


class ToolSource(Struct, frozen=True):
    """A server, and which of its tools need nobody's consent."""

    toolbox: Toolbox
    is_trusted: Callable[[str], bool]


class SourceTools(Struct, frozen=True):
    source: ToolSource
    tools: Sequence[ToolInfo]


class ParticipantTools(Struct, frozen=True):
    """What somebody may call, if anything, and words about what is missing."""

    toolset: Toolset | None
    problems: Sequence[str]


OpenToolSource = Callable[[str], Awaitable[ToolSource]]
CheckBudget = Callable[[float], Awaitable[str | None]]


async def allow_any_cost(_: float) -> str | None:
    """Let everything cost what it costs."""
    return None


class ToolSession:
    """`open_` finds a server by its name. A server that failed is not tried again in this run.

    `over_budget` says, for what a turn has cost that is not paid yet, that no more may be spent.
    """

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
        """Put together what a participant may call."""
        wanted = group_by_server(participant.tools)
        found = await asyncio.gather(*map(self._list_tools, wanted))
        offers: list[ToolBinding] = []
        troubles: list[str] = []
        for (server, names), listed in zip(wanted.items(), found, strict=True):
            if isinstance(listed, str):
                troubles += [listed] if listed else []
                continue
            offers += _bind_tools(server, names, listed)
            missing = sorted((names or set()) - {info.name for info in listed.tools})
            troubles += [f"The tool server {server} has no tool {name}." for name in missing]
        toolkit = Toolset(offers[:MAX_TOOLS], self._new_approval_policy()) if offers else None
        return ParticipantTools(toolkit, troubles)

    async def aclose(self) -> None:
        await asyncio.gather(*(source.toolbox.aclose() for source in self._sources.values()))

    async def _list_tools(self, server: str) -> SourceTools | str:
        """List the tools of a server, or say why not; nothing, where that was said before."""
        async with self._locks.setdefault(server, asyncio.Lock()):
            if server in self._server_errors:
                return ""
            try:
                source = self._sources.get(server) or await self._open_source(server)
                self._sources[server] = source
                return SourceTools(source, await source.toolbox.list_tools())
            except MootError as error:
                self._server_errors[server] = f"{error} Its tools are left out."
                return self._server_errors[server]


def group_by_server(tools: Sequence[str]) -> Mapping[str, set[str] | None]:
    """Group tools by their servers; None is all that a server has."""
    wanted: dict[str, set[str] | None] = {}
    for one in tools:
        server, _, tool = one.partition("/")
        names = wanted.setdefault(server, set())
        if not tool:
            wanted[server] = None
        elif names is not None:
            names.add(tool)
    return wanted


def _bind_tools(server: str, names: set[str] | None, source_tools: SourceTools) -> list[ToolBinding]:
    return [
        ToolBinding(
            title=f"{server}/{info.name}",
            info=info,
            toolbox=source_tools.source.toolbox,
            trusted=source_tools.source.is_trusted(info.name),
        )
        for info in source_tools.tools
        if names is None or info.name in names
    ]
