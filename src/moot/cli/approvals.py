"""Tool calls at a terminal: approval prompts, one at a time, and the tool session of `moot ask`."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Self, TextIO

from msgspec import Struct

from moot.engine.tools.session import ToolSession, ToolSource, group_by_server
from moot.engine.tools.toolset import ApprovalState, ToolCallRequest
from moot.streaming.cancellation import cancel_tasks
from moot.terminal.readers import strip_control_chars
from moot.tools.config import ServerConfig, create_configured_toolbox
from moot.types.errors import MootError, UsageError
from moot.types.events import ApprovalRequested, ApprovalResolved, Event, RunStarted, ToolCalled, TurnEnded, TurnStarted
from moot.types.tools import BUILTIN_SERVER_NAME, ApprovalDecision

MAX_ARGUMENT_CHARS = 2000
DECISIONS_BY_INPUT: Mapping[str, ApprovalDecision] = {
    "y": "allow",
    "yes": "allow",
    "a": "always",
    "always": "always",
    "n": "refuse",
    "no": "refuse",
    "": "refuse",
}
MAX_ATTEMPTS = 2  # after these, unclear input refuses the call


class Terminal(Struct, frozen=True):
    """An interactive terminal that can prompt the user."""

    input_stream: TextIO
    output_stream: TextIO

    async def request_decision(self, who: str, tool: str, arguments: str) -> ApprovalDecision:
        """Prompt for one call. Can be cancelled while it waits for input."""
        self.output_stream.write(
            f"\nmoot: {strip_control_chars(f'{who} wants to call {tool} with {arguments[:MAX_ARGUMENT_CHARS]}')}\n"
        )
        for _ in range(MAX_ATTEMPTS):
            self.output_stream.write("moot: Allow it? yes, no, or always: ")
            self.output_stream.flush()
            line = await self._read_line()
            if (answer := DECISIONS_BY_INPUT.get(line.strip().lower())) is not None:
                return answer
        return "refuse"

    async def _read_line(self) -> str:
        # `add_reader` instead of a thread, because a blocking read in a thread cannot be cancelled.
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        loop.add_reader(self.input_stream.fileno(), readable.set)
        try:
            await readable.wait()
            return self.input_stream.readline()
        except asyncio.CancelledError:
            self.output_stream.write("\n")
            self.output_stream.flush()
            raise
        finally:
            loop.remove_reader(self.input_stream.fileno())


def interactive_terminal(input_stream: TextIO | None, output_stream: TextIO) -> Terminal | None:
    """Return None unless both streams are terminals."""
    if input_stream is None or not (input_stream.isatty() and output_stream.isatty()):
        return None
    return Terminal(input_stream, output_stream)


class ApprovalPrompts:
    """Approval prompts of one run. Cancels a prompt that is answered on the page or whose turn has ended.

    `terminal`: None means that the user is only notified, and answers on the page.
    """

    def __init__(
        self,
        terminal: Terminal | None,
        submit_decision: Callable[[str, ApprovalDecision], Awaitable[None]],
        notify: Callable[[str], None],
        page_url: str,
    ) -> None:
        self._terminal = terminal
        self._submit_decision = submit_decision
        self._notify = notify
        self._page_url = page_url
        self._names: dict[str, str] = {}
        self._calls: dict[str, ToolCalled] = {}
        self._prompt_tasks: dict[str, asyncio.Task[None]] = {}
        self._prompt_lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancel_tasks(*self._prompt_tasks.values())

    def process_events(self, events: Sequence[Event]) -> None:
        """Open and cancel prompts. A later event of the batch may already answer an earlier one."""
        open_requests: dict[str, ApprovalRequested] = {}
        for event in events:
            match event:
                case RunStarted(participants=participants):
                    self._names = {who.id: who.name for who in participants}
                case ToolCalled(call_id=call):
                    self._calls[call] = event
                case ApprovalRequested(call_id=call):
                    open_requests[call] = event
                case ApprovalResolved(call_id=call):
                    open_requests.pop(call, None)
                    self._cancel_prompt(call)
                case TurnStarted(participant=who) | TurnEnded(participant=who):
                    for call in [id for id, one in self._calls.items() if one.participant == who]:
                        open_requests.pop(call, None)
                        self._cancel_prompt(call)
        for call, one in open_requests.items():
            self._prompt_tasks[call] = asyncio.create_task(
                self._prompt_for_call(self._calls[call], is_repeated=one.repeated)
            )

    def _cancel_prompt(self, call: str) -> None:
        if (task := self._prompt_tasks.get(call)) is not None:
            task.cancel()

    async def _prompt_for_call(self, call: ToolCalled, *, is_repeated: bool) -> None:
        who = self._names.get(call.participant, call.participant)
        if self._terminal is None:
            self._notify(f"{who} wants to call {call.name} and waits for approval. Answer at {self._page_url}.")
            return
        async with self._prompt_lock:
            if is_repeated:
                self._notify(f"{call.name} was called before the turn was interrupted. It may already have run.")
            answer = await self._terminal.request_decision(who, call.name, call.arguments)
        try:
            await self._submit_decision(call.call_id, answer)
        except MootError as error:
            self._notify(str(error))


@asynccontextmanager
async def open_tool_session(
    tools: Sequence[str], servers: Mapping[str, ServerConfig], environment: Mapping[str, str], names: Mapping[str, str]
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
