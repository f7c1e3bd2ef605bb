"""The tools of `moot ask`: servers of the settings, and whoever sits at the terminal is asked what they may do."""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TextIO

from moot.cli.approvals import terminal
from moot.engine.tools.approval_policy import Standing, Wanted
from moot.engine.tools.session import Source, Workshop, servers_of
from moot.terminal.readers import safe
from moot.tools.config import ServerConfig, configured
from moot.types.errors import UsageError
from moot.types.tools import OWN, Decision


@asynccontextmanager
async def workshop(
    tools: Sequence[str],
    servers: Mapping[str, ServerConfig],
    environment: Mapping[str, str],
    names: Mapping[str, str],
) -> AsyncIterator[Workshop | None]:
    """Open a workshop for the tools that are named, if any are, or refuse those that are not there.

    `names` are those of the participants, by id: so they are called where somebody is asked.
    """
    if not tools:
        yield None
        return
    _check(tools, servers)

    async def open_(server: str) -> Source:
        config = servers[server]
        return Source(await configured(server, config, environment), config.trusts)

    asking = AtTerminal(sys.stdin, sys.stderr, names)
    opened = Workshop(open_, lambda: asking)
    try:
        yield opened
    finally:
        await opened.aclose()


def _check(tools: Sequence[str], servers: Mapping[str, ServerConfig]) -> None:
    for server in servers_of(tools):
        if server == OWN:
            raise UsageError(
                "--tools moot: Moot's own tools read what moot serve keeps; moot ask keeps nothing."
            )
        if server not in servers:
            known = f"There are {', '.join(servers)}." if servers else "There are none."
            raise UsageError(
                f"--tools {safe(server)}: the settings name no such server under [tools.{safe(server)}]. {known}"
            )


class AtTerminal:
    """The consent of whoever sits at the terminal, one question at a time; where nobody does, there is none.

    `names` are those of the participants, by id.
    """

    def __init__(self, typed: TextIO | None, shown: TextIO, names: Mapping[str, str]) -> None:
        self._terminal = terminal(typed, shown)
        self._shown = shown
        self._names = names
        self._always: set[str] = set()
        self._turn = asyncio.Lock()

    async def standing(self, wanted: Wanted) -> Standing:
        return "given" if wanted.tool in self._always else "wanted"

    async def ask(self, wanted: Wanted) -> None:
        """The question is put when its turn has come."""

    async def answer(self, wanted: Wanted) -> Decision | None:
        if self._terminal is None:
            words = f"{wanted.tool} has effects, and nobody is here to allow it: it is not called. Trust it in moot.toml, or ask at a terminal."
            self._shown.write(f"\nmoot: {safe(words)}\n")
            return None
        async with self._turn:
            if wanted.tool in self._always:
                return "allow"
            who = self._names[wanted.seat.participant]
            answer = await self._terminal.allows(who, wanted.tool, wanted.arguments)
        if answer == "always":
            self._always.add(wanted.tool)
        return answer

    async def begin(self, wanted: Wanted) -> None:
        """It is noted nowhere: nothing of this run outlives its process."""
