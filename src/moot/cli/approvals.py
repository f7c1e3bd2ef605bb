"""Whether a call that has effects may be made, asked at a terminal: one question at a time, which can be taken back."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Self, TextIO

from msgspec import Struct

from moot.terminal.readers import safe
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
from moot.types.tools import Decision

SHOWN = 2000  # characters of what a tool is to be called with
ANSWERS: Mapping[str, Decision] = {
    "y": "allow",
    "yes": "allow",
    "a": "always",
    "always": "always",
    "n": "refuse",
    "no": "refuse",
    "": "refuse",
}
TRIES = 2  # what is neither yes nor no is asked about once more, and then it is no


class Terminal(Struct, frozen=True):
    """Where somebody sits who reads and types."""

    typed: TextIO
    shown: TextIO

    async def allows(self, who: str, tool: str, arguments: str) -> Decision:
        """Ask about one call; whoever does not wait for the answer any more may leave."""
        self.shown.write(f"\nmoot: {safe(f'{who} wants to call {tool} with {arguments[:SHOWN]}')}\n")
        for _ in range(TRIES):
            self.shown.write("moot: Allow it? yes, no, or always: ")
            self.shown.flush()
            line = await self._line()
            if (answer := ANSWERS.get(line.strip().lower())) is not None:
                return answer
        return "refuse"

    async def _line(self) -> str:
        """Read a line, and let whoever waits for it leave: a thread that reads could not."""
        loop = asyncio.get_running_loop()
        there = asyncio.Event()
        loop.add_reader(self.typed.fileno(), there.set)
        try:
            await there.wait()
            return self.typed.readline()
        except asyncio.CancelledError:
            self.shown.write("\n")
            self.shown.flush()
            raise
        finally:
            loop.remove_reader(self.typed.fileno())


def terminal(typed: TextIO | None, shown: TextIO) -> Terminal | None:
    """Tell where somebody can be asked, if anywhere."""
    return Terminal(typed, shown) if typed is not None and typed.isatty() and shown.isatty() else None


class Questions:
    """What the calls of one run wait for; a question that was answered elsewhere, or is over, is taken back.

    Without a terminal it is said that a call waits, and that it can be answered on the `page`.
    """

    def __init__(
        self,
        at: Terminal | None,
        answer: Callable[[str, Decision], Awaitable[None]],
        say: Callable[[str], None],
        page: str,
    ) -> None:
        self._at = at
        self._answer = answer
        self._say = say
        self._page = page
        self._names: dict[str, str] = {}
        self._called: dict[str, ToolCalled] = {}
        self._open: dict[str, asyncio.Task[None]] = {}
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        waiting = list(self._open.values())
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    def hear(self, events: Sequence[Event]) -> None:
        """Ask what is to be asked after these events: what some of them ask, others may have answered."""
        wanted: dict[str, ApprovalWanted] = {}
        for event in events:
            match event:
                case RunStarted(participants=participants):
                    self._names = {who.id: who.name for who in participants}
                case ToolCalled(call_id=call):
                    self._called[call] = event
                case ApprovalWanted(call_id=call):
                    wanted[call] = event
                case ApprovalGiven(call_id=call):
                    wanted.pop(call, None)
                    self._take_back(call)
                case TurnStarted(participant=who) | TurnEnded(participant=who):
                    for call in [id for id, one in self._called.items() if one.participant == who]:
                        wanted.pop(call, None)
                        self._take_back(call)
        for call, one in wanted.items():
            self._open[call] = asyncio.create_task(self._ask(self._called[call], again=one.again))

    def _take_back(self, call: str) -> None:
        if (asking := self._open.get(call)) is not None:
            asking.cancel()

    async def _ask(self, call: ToolCalled, *, again: bool) -> None:
        who = self._names.get(call.participant, call.participant)
        if self._at is None:
            self._say(f"{who} wants to call {call.name}, and waits for consent: give it at {self._page}.")
            return
        async with self._turn:
            if again:
                self._say(
                    f"{call.name} was called before something broke off: it may have been done already."
                )
            answer = await self._at.allows(who, call.name, call.arguments)
        try:
            await self._answer(call.call_id, answer)
        except MootError as error:
            self._say(str(error))
