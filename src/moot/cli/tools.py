"""Tools of `moot ask`: tool servers from the settings, with approval at the terminal."""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TextIO

from moot.cli.approvals import interactive_terminal
from moot.engine.tools.session import ToolSession, ToolSource, group_by_server
from moot.engine.tools.toolset import ApprovalState, ToolCallRequest
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
    """Yield a tool session, or None if no tools are given. Raises UsageError for an unknown server.

    `names`: participant names by id, for the prompts.
    """
    if not tools:
        yield None
        return
    _check_tool_servers(tools, servers)

    async def connect_source(server: str) -> ToolSource:
        config = servers[server]
        return ToolSource(await create_configured_toolbox(server, config, environment), config.trusts_tool)

    policy = TerminalApprovalPolicy(sys.stdin, sys.stderr, names)
    session = ToolSession(connect_source, lambda: policy)
    try:
        yield session
    finally:
        await session.aclose()


def _check_tool_servers(tools: Sequence[str], servers: Mapping[str, ServerConfig]) -> None:
    for server in group_by_server(tools):
        if server == BUILTIN_SERVER_NAME:
            raise UsageError("--tools moot: not available in moot ask, which stores nothing. Use moot serve.")
        if server not in servers:
            known = f"Choose one of {', '.join(servers)}." if servers else "The settings name no tool servers."
            raise UsageError(
                f"--tools {strip_control_chars(server)}: the settings have no [tools.{strip_control_chars(server)}]. {known}"
            )


class TerminalApprovalPolicy:
    """Approval policy that prompts at the terminal, one call at a time. Refuses without a terminal.

    `names`: participant names by id.
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
        """No-op: `wait_for_decision` prompts."""

    async def wait_for_decision(self, request: ToolCallRequest) -> ApprovalDecision | None:
        if self._terminal is None:
            text = f"{request.tool}: not called, because it needs approval and there is no terminal. Trust it in moot.toml, or run moot in a terminal."
            self._output_stream.write(f"\nmoot: {strip_control_chars(text)}\n")
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
        """No-op: the run is not stored, so it is never resumed."""
