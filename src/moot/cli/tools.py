"""The tools of `moot ask`: servers of the settings, and whoever sits at the terminal is asked what they may do."""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TextIO

from moot.cli.approvals import interactive_terminal
from moot.engine.tools.approval_policy import ApprovalState, ToolCallRequest
from moot.engine.tools.session import ToolSession, ToolSource, group_by_server
from moot.terminal.readers import strip_control_chars
from moot.tools.config import ServerConfig, create_configured_toolbox
from moot.types.errors import UsageError
from moot.types.tools import BUILTIN_SERVER_NAME, ApprovalDecision


@asynccontextmanager
async def open_tool_session(
    tools: Sequence[str],
    servers: Mapping[str, ServerConfig],
    environment: Mapping[str, str],
    names: Mapping[str, str],
) -> AsyncIterator[ToolSession | None]:
    """Open a workshop for the tools that are named, if any are, or refuse those that are not there.

    `names` are those of the participants, by id: so they are called where somebody is asked.
    """
    if not tools:
        yield None
        return
    _check_tool_servers(tools, servers)

    async def connect_source(server: str) -> ToolSource:
        config = servers[server]
        return ToolSource(await create_configured_toolbox(server, config, environment), config.trusts_tool)

    asking = TerminalApprovalPolicy(sys.stdin, sys.stderr, names)
    opened = ToolSession(connect_source, lambda: asking)
    try:
        yield opened
    finally:
        await opened.aclose()


def _check_tool_servers(tools: Sequence[str], servers: Mapping[str, ServerConfig]) -> None:
    for server in group_by_server(tools):
        if server == BUILTIN_SERVER_NAME:
            raise UsageError(
                "--tools moot: Moot's own tools read what moot serve keeps; moot ask keeps nothing."
            )
        if server not in servers:
            known = f"There are {', '.join(servers)}." if servers else "There are none."
            raise UsageError(
                f"--tools {strip_control_chars(server)}: the settings name no such server under [tools.{strip_control_chars(server)}]. {known}"
            )


class TerminalApprovalPolicy:
    """The consent of whoever sits at the terminal, one question at a time; where nobody does, there is none.

    `names` are those of the participants, by id.
    """

    def __init__(self, input_stream: TextIO | None, output_stream: TextIO, names: Mapping[str, str]) -> None:
        self._terminal = interactive_terminal(input_stream, output_stream)
        self._output_stream = output_stream
        self._names = names
        self._always_allowed: set[str] = set()
        self._prompt_lock = asyncio.Lock()

    async def approval_state(self, request: ToolCallRequest) -> ApprovalState:
        return "given" if request.tool in self._always_allowed else "wanted"

    async def request_approval(self, request: ToolCallRequest) -> None:
        """The question is put when its turn has come."""

    async def wait_for_decision(self, request: ToolCallRequest) -> ApprovalDecision | None:
        if self._terminal is None:
            words = f"{request.tool} has effects, and nobody is here to allow it: it is not called. Trust it in moot.toml, or ask at a terminal."
            self._output_stream.write(f"\nmoot: {strip_control_chars(words)}\n")
            return None
        async with self._prompt_lock:
            if request.tool in self._always_allowed:
                return "allow"
            who = self._names[request.turn_key.participant]
            answer = await self._terminal.request_decision(who, request.tool, request.arguments)
        if answer == "always":
            self._always_allowed.add(request.tool)
        return answer

    async def record_call_start(self, request: ToolCallRequest) -> None:
        """It is noted nowhere: nothing of this run outlives its process."""
