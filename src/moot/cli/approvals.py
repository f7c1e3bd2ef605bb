"""Approval prompts for tool calls at a terminal: one at a time, cancelled when no longer needed."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Self, TextIO

from msgspec import Struct

from moot.streaming.cancellation import cancel_tasks
from moot.terminal.readers import strip_control_chars
from moot.types.errors import MootError
from moot.types.events import ApprovalRequested, ApprovalResolved, Event, RunStarted, ToolCalled, TurnEnded, TurnStarted
from moot.types.tools import ApprovalDecision

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
    return (
        Terminal(input_stream, output_stream)
        if input_stream is not None and input_stream.isatty() and output_stream.isatty()
        else None
    )


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
