"""Whether a call that has effects may be made, asked at a terminal: one question at a time, which can be taken back."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Self, TextIO

from msgspec import Struct

from moot.terminal.readers import strip_control_chars
from moot.types.errors import MootError
from moot.types.events import (
    ApprovalGiven,
    ApprovalWanted,
    Event,
    RunStarted,
    ToolCalled,
    TurnEnded,
    TurnStarted,
)
from moot.types.tools import ApprovalDecision

MAX_ARGUMENT_CHARS = 2000  # characters of what a tool is to be called with
DECISIONS_BY_INPUT: Mapping[str, ApprovalDecision] = {
    "y": "allow",
    "yes": "allow",
    "a": "always",
    "always": "always",
    "n": "refuse",
    "no": "refuse",
    "": "refuse",
}
MAX_ATTEMPTS = 2  # what is neither yes nor no is asked about once more, and then it is no


class Terminal(Struct, frozen=True):
    """Where somebody sits who reads and types."""

    input_stream: TextIO
    output_stream: TextIO

    async def request_decision(self, who: str, tool: str, arguments: str) -> ApprovalDecision:
        """Ask about one call; whoever does not wait for the answer any more may leave."""
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
        """Read a line, and let whoever waits for it leave: a thread that reads could not."""
        loop = asyncio.get_running_loop()
        there = asyncio.Event()
        loop.add_reader(self.input_stream.fileno(), there.set)
        try:
            await there.wait()
            return self.input_stream.readline()
        except asyncio.CancelledError:
            self.output_stream.write("\n")
            self.output_stream.flush()
            raise
        finally:
            loop.remove_reader(self.input_stream.fileno())


def interactive_terminal(input_stream: TextIO | None, output_stream: TextIO) -> Terminal | None:
    """Tell where somebody can be asked, if anywhere."""
    return (
        Terminal(input_stream, output_stream)
        if input_stream is not None and input_stream.isatty() and output_stream.isatty()
        else None
    )


class ApprovalPrompts:
    """What the calls of one run wait for; a question that was answered elsewhere, or is over, is taken back.

    Without a terminal it is said that a call waits, and that it can be answered on the `page`.
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
        waiting = list(self._prompt_tasks.values())
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    def process_events(self, events: Sequence[Event]) -> None:
        """Ask what is to be asked after these events: what some of them ask, others may have answered."""
        wanted: dict[str, ApprovalWanted] = {}
        for event in events:
            match event:
                case RunStarted(participants=participants):
                    self._names = {who.id: who.name for who in participants}
                case ToolCalled(call_id=call):
                    self._calls[call] = event
                case ApprovalWanted(call_id=call):
                    wanted[call] = event
                case ApprovalGiven(call_id=call):
                    wanted.pop(call, None)
                    self._cancel_prompt(call)
                case TurnStarted(participant=who) | TurnEnded(participant=who):
                    for call in [id for id, one in self._calls.items() if one.participant == who]:
                        wanted.pop(call, None)
                        self._cancel_prompt(call)
        for call, one in wanted.items():
            self._prompt_tasks[call] = asyncio.create_task(
                self._prompt_for_call(self._calls[call], is_repeated=one.again)
            )

    def _cancel_prompt(self, call: str) -> None:
        if (asking := self._prompt_tasks.get(call)) is not None:
            asking.cancel()

    async def _prompt_for_call(self, call: ToolCalled, *, is_repeated: bool) -> None:
        who = self._names.get(call.participant, call.participant)
        if self._terminal is None:
            self._notify(
                f"{who} wants to call {call.name}, and waits for consent: give it at {self._page_url}."
            )
            return
        async with self._prompt_lock:
            if is_repeated:
                self._notify(
                    f"{call.name} was called before something broke off: it may have been done already."
                )
            answer = await self._terminal.request_decision(who, call.name, call.arguments)
        try:
            await self._submit_decision(call.call_id, answer)
        except MootError as error:
            self._notify(str(error))
