"""The tools of `moot ask`: servers of the settings, and whoever sits at the terminal is asked what they may do."""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TextIO

from moot.channels.terminal import safe
from moot.engine.consent import Standing, Wanted
from moot.engine.workshop import Source, Workshop, servers_of
from moot.model.errors import UsageError
from moot.model.tools import OWN, Decision
from moot.tools.servers import ServerConfig, configured

SHOWN = 2000  # characters of what a tool is to be called with
ANSWERS: Mapping[str, Decision] = {"y": "allow", "yes": "allow", "a": "always", "always": "always"}


@asynccontextmanager
async def workshop(
    tools: Sequence[str], servers: Mapping[str, ServerConfig], environment: Mapping[str, str]
) -> AsyncIterator[Workshop | None]:
    """Open a workshop for the tools that are named, if any are, or refuse those that are not there."""
    if not tools:
        yield None
        return
    _check(tools, servers)

    async def open_(server: str) -> Source:
        config = servers[server]
        return Source(await configured(server, config, environment), config.trusts)

    asking = AtTerminal(sys.stdin, sys.stderr)
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
    """The consent of whoever sits at the terminal, one question at a time; where nobody does, it is refused."""

    def __init__(self, typed: TextIO | None, shown: TextIO) -> None:
        self._typed = typed if typed is not None and typed.isatty() and shown.isatty() else None
        self._shown = shown
        self._always: set[str] = set()
        self._turn = asyncio.Lock()

    async def standing(self, wanted: Wanted) -> Standing:
        return "given" if wanted.tool in self._always else "wanted"

    async def ask(self, wanted: Wanted) -> None:
        """The question is put when its turn has come."""

    async def answer(self, wanted: Wanted) -> Decision:
        if self._typed is None:
            words = f"{wanted.tool} has effects, and nobody is here to allow it: it is not called. Trust it in moot.toml, or ask at a terminal."
            self._shown.write(f"\nmoot: {safe(words)}\n")
            return "refuse"
        async with self._turn:
            if wanted.tool in self._always:
                return "allow"
            question = (
                f"{wanted.seat.participant} wants to call {wanted.tool} with {wanted.arguments[:SHOWN]}"
            )
            self._shown.write(f"\nmoot: {safe(question)}\nmoot: Allow it? yes, no, or always: ")
            self._shown.flush()
            answer = ANSWERS.get((await _line(self._typed)).strip().lower(), "refuse")
        if answer == "always":
            self._always.add(wanted.tool)
        return answer

    async def begin(self, wanted: Wanted) -> None:
        """It is noted nowhere: nothing of this run outlives its process."""


async def _line(typed: TextIO) -> str:
    """Read a line, and let whoever waits for it leave: a thread that reads could not."""
    loop = asyncio.get_running_loop()
    there = asyncio.Event()
    loop.add_reader(typed.fileno(), there.set)
    try:
        await there.wait()
        return typed.readline()
    finally:
        loop.remove_reader(typed.fileno())
