"""The tool loop of a turn: what was called is told to the model, which is asked on, until it has answered.

All of it is one answer: what was said before a call stays, and goes back to the model with the rest.
"""

from collections.abc import Awaitable, Callable
from itertools import takewhile

from msgspec.structs import replace

from moot.engine.tools.toolset import Round, Toolkit
from moot.engine.turns.attempts import Attempts
from moot.streaming.cancellation import Stop
from moot.streaming.lesson_turn import both
from moot.streaming.turn_stream import Emit, StreamResult
from moot.types.events import Event, TextDelta, TextRetracted, ThoughtDelta
from moot.types.faults import Fault, fault
from moot.types.requests import Message, ModelRequest
from moot.types.tools import ToolUse

ROUNDS = 100
STILL_WORKING = 20  # the round after which people are told
ERRORS = 5  # in a row
BREAK = "\n\n"

Ask = Callable[[ModelRequest], Awaitable[StreamResult]]
Afford = Callable[[float], Awaitable[None]]


async def at_any_price(_: float) -> None:
    """Let a turn cost what it costs."""


class ToolLoop:
    """`afford` is told between two rounds what the turn has cost, and stops it where that is too much."""

    def __init__(self, turn: Attempts, kit: Toolkit, ask: Ask, afford: Afford) -> None:
        self.uses: list[ToolUse] = []
        self._turn = turn
        self._kit = kit
        self._ask = ask
        self._afford = afford
        self._whole = StreamResult("completed")
        self._emit = turn.emit
        self._hurry = turn.stop
        # Whoever says something meanwhile waits for the end of it.
        self._stop = Stop(turn.stop, deaf_to="follow_up_interrupt")

    async def run(self, request: ModelRequest, result: StreamResult) -> StreamResult:
        """Go on from an answer that calls tools."""
        for done in range(1, ROUNDS + 1):
            self._add(result)
            request = await self._called(request, result)
            if (end := await self._end(done)) is not None:
                return self._ended(end)
            self._turn.go_on(self._sequel(), self._stop, said=bool(self._whole.text))
            result = await self._ask(request)
            if result.status != "tool_call":
                self._add(result)
                return self._ended(result)
        return self._ended(_failed(f"The model called tools {ROUNDS} times over, and was not asked on."))

    async def _called(self, request: ModelRequest, result: StreamResult) -> ModelRequest:
        """Make the calls of an answer, and add both to what is asked next."""
        used = await self._kit.use(
            result.tool_calls,
            Round(
                seat=self._turn.seat,
                stop=self._stop,
                hurry=self._hurry,
                emit=self._emit,
                said=len(self._whole.text),
            ),
        )
        self.uses += [one.kept for one in used]
        more = Message("assistant", result.parts), Message("user", tuple(one.told for one in used))
        return replace(request, messages=(*request.messages, *more))

    async def _end(self, done: int) -> StreamResult | None:
        """Tell whether, after so many rounds, the model is not asked on, and why."""
        if self._stop.reason is None:
            await self._afford(self._turn.cost)
        if self._stop.reason is not None:
            return StreamResult(self._stop.reason)
        failed = list(takewhile(lambda use: use.is_error, reversed(self.uses)))
        if len(failed) >= ERRORS:
            return _failed(
                f"{len(failed)} calls of tools in a row failed, the last one with: {failed[0].content[:300]}"
            )
        if done == STILL_WORKING:
            await self._turn.notice("still_working", f"Still working: tools were called {done} times over.")
        return None

    def _add(self, result: StreamResult) -> None:
        before, script = self._whole, both(self._whole.script, result.script)
        gap = "" if self._turn.acting else BREAK
        self._whole = replace(
            before,
            text=_joined(before.text, result.text, gap),
            thoughts=_joined(before.thoughts, result.thoughts, BREAK),
            details=_joined(before.details, result.details, BREAK),
            script=script,
            first_token=before.first_token if before.first_token is not None else result.first_token,
        )

    def _ended(self, result: StreamResult) -> StreamResult:
        """Make one result of all rounds, which ended as the last one did."""
        last = {name: getattr(result, name) for name in ("status", "finish", "fault")}
        return replace(self._whole, **last)

    def _sequel(self) -> Emit:
        gap = "" if self._turn.acting else BREAK
        return Sequel(self._emit, self._whole.text, self._whole.thoughts, gap)


class Sequel:
    """Tells of a further round as of more of the same text."""

    def __init__(self, emit: Emit, text: str, thoughts: str, gap: str) -> None:
        self._emit = emit
        self._text = text
        self._before_text = gap if text else ""
        self._before_thoughts = BREAK if thoughts else ""
        self._gap = self._before_text

    async def __call__(self, events: list[Event]) -> None:
        await self._emit([told for event in events for told in self._told(event)])

    def _told(self, event: Event) -> list[Event]:
        match event:
            case TextDelta(text=text):
                gap, self._before_text = self._before_text, ""
                return [replace(event, text=gap + text)]
            case ThoughtDelta(text=text):
                gap, self._before_thoughts = self._before_thoughts, ""
                return [replace(event, text=gap + text)]
            case TextRetracted() if self._text:  # of this round alone: what came before it stays
                self._before_text = self._gap
                at = event.seat
                again = TextDelta(participant=at.participant, stage=at.stage, round=at.round, text=self._text)
                return [event, again]
        return [event]


def _joined(text: str, more: str, gap: str) -> str:
    return f"{text}{gap}{more}" if text and more else text or more


def _failed(words: str) -> StreamResult:
    trouble: Fault = fault("bad_response", words, retryable=False)
    return StreamResult("error", fault=trouble)
