"""The tools of one run: servers are opened when somebody needs them, shared by all, and closed at the end."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec import Struct

from moot.engine.tools.approval_policy import Consent
from moot.engine.tools.toolset import Offer, Toolkit
from moot.tools.toolbox import Toolbox
from moot.types.errors import MootError
from moot.types.participants import Participant
from moot.types.tools import ToolInfo

MOST_OFFERED = 128  # that every provider takes


class Source(Struct, frozen=True):
    """A server, and which of its tools need nobody's consent."""

    toolbox: Toolbox
    trusts: Callable[[str], bool]


class Listed(Struct, frozen=True):
    source: Source
    tools: Sequence[ToolInfo]


class Kit(Struct, frozen=True):
    """What somebody may call, if anything, and words about what is missing."""

    toolkit: Toolkit | None
    troubles: Sequence[str]


Open = Callable[[str], Awaitable[Source]]
OverBudget = Callable[[float], Awaitable[str | None]]


async def no_budget(_: float) -> str | None:
    """Let everything cost what it costs."""
    return None


class Workshop:
    """`open_` finds a server by its name. A server that failed is not tried again in this run.

    `over_budget` says, for what a turn has cost that is not paid yet, that no more may be spent.
    """

    def __init__(
        self, open_: Open, consent: Callable[[], Consent], over_budget: OverBudget = no_budget
    ) -> None:
        self.over_budget = over_budget
        self._open = open_
        self._consent = consent
        self._sources: dict[str, Source] = {}
        self._failed: dict[str, str] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def kit(self, who: Participant) -> Kit:
        """Put together what a participant may call."""
        wanted = servers_of(who.tools)
        found = await asyncio.gather(*map(self._listed, wanted))
        offers: list[Offer] = []
        troubles: list[str] = []
        for (server, names), listed in zip(wanted.items(), found, strict=True):
            if isinstance(listed, str):
                troubles += [listed] if listed else []
                continue
            offers += _offers(server, names, listed)
            missing = sorted((names or set()) - {info.name for info in listed.tools})
            troubles += [f"The tool server {server} has no tool {name}." for name in missing]
        toolkit = Toolkit(offers[:MOST_OFFERED], self._consent()) if offers else None
        return Kit(toolkit, troubles)

    async def aclose(self) -> None:
        await asyncio.gather(*(source.toolbox.aclose() for source in self._sources.values()))

    async def _listed(self, server: str) -> Listed | str:
        """List the tools of a server, or say why not; nothing, where that was said before."""
        async with self._locks.setdefault(server, asyncio.Lock()):
            if server in self._failed:
                return ""
            try:
                source = self._sources.get(server) or await self._open(server)
                self._sources[server] = source
                return Listed(source, await source.toolbox.tools())
            except MootError as error:
                self._failed[server] = f"{error} Its tools are left out."
                return self._failed[server]


def servers_of(tools: Sequence[str]) -> Mapping[str, set[str] | None]:
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


def _offers(server: str, names: set[str] | None, listed: Listed) -> list[Offer]:
    return [
        Offer(
            title=f"{server}/{info.name}",
            info=info,
            toolbox=listed.source.toolbox,
            trusted=listed.source.trusts(info.name),
        )
        for info in listed.tools
        if names is None or info.name in names
    ]
