"""The tool loop of a turn: what was called is told to the model, which is asked on, until it has answered.

All of it is one answer: what was said before a call stays, and goes back to the model with the rest.
"""

from collections.abc import Awaitable, Callable
from itertools import takewhile

from msgspec.structs import replace

from moot.engine.tools.toolset import ToolCallContext, Toolset
from moot.engine.turns.attempts import TurnAttempts
from moot.streaming.cancellation import StopSignal
from moot.streaming.lesson_turn import concatenate_lesson_items
from moot.streaming.turn_stream import Emit, StreamResult
from moot.types.events import Event, TextDelta, TextRetracted, ThoughtDelta
from moot.types.faults import Fault, make_fault
from moot.types.requests import ModelMessage, ModelRequest
from moot.types.tools import ToolUse

MAX_TOOL_ROUNDS = 100
STILL_WORKING_ROUND = 20  # the round after which people are told
MAX_ERRORS_IN_A_ROW = 5  # in a row
PARAGRAPH_BREAK = "\n\n"

CallModel = Callable[[ModelRequest], Awaitable[StreamResult]]
EnforceBudget = Callable[[float], Awaitable[None]]


async def ignore_budget(_: float) -> None:
    """Let a turn cost what it costs."""


class ToolLoop:
    """`afford` is told between two rounds what the turn has cost, and stops it where that is too much."""

    def __init__(
        self, turn: TurnAttempts, toolset: Toolset, call_model: CallModel, enforce_budget: EnforceBudget
    ) -> None:
        self.tool_uses: list[ToolUse] = []
        self._turn = turn
        self._toolset = toolset
        self._call_model = call_model
        self._enforce_budget = enforce_budget
        self._combined = StreamResult("completed")
        self._emit = turn.emit
        self._approval_stop = turn.stop
        # Whoever says something meanwhile waits for the end of it.
        self._stop = StopSignal(turn.stop, ignored_reason="follow_up_interrupt")

    async def run_rounds(self, request: ModelRequest, result: StreamResult) -> StreamResult:
        """Go on from an answer that calls tools."""
        for done in range(1, MAX_TOOL_ROUNDS + 1):
            self._add_result(result)
            request = await self._call_tools(request, result)
            if (end := await self._check_end(done)) is not None:
                return self._combine_results(end)
            self._turn.continue_answer(
                self._continuation_emit(), self._stop, has_text=bool(self._combined.text)
            )
            result = await self._call_model(request)
            if result.status != "tool_call":
                self._add_result(result)
                return self._combine_results(result)
        return self._combine_results(
            _error_result(f"The model called tools {MAX_TOOL_ROUNDS} times over, and was not asked on.")
        )

    async def _call_tools(self, request: ModelRequest, result: StreamResult) -> ModelRequest:
        """Make the calls of an answer, and add both to what is asked next."""
        used = await self._toolset.call_tools(
            result.tool_calls,
            ToolCallContext(
                turn_key=self._turn.turn_key,
                stop=self._stop,
                approval_stop=self._approval_stop,
                emit=self._emit,
                text_length=len(self._combined.text),
            ),
        )
        self.tool_uses += [one.tool_use for one in used]
        more = (
            ModelMessage("assistant", result.parts),
            ModelMessage("user", tuple(one.result for one in used)),
        )
        return replace(request, messages=(*request.messages, *more))

    async def _check_end(self, rounds: int) -> StreamResult | None:
        """Tell whether, after so many rounds, the model is not asked on, and why."""
        if self._stop.reason is None:
            await self._enforce_budget(self._turn.cost)
        if self._stop.reason is not None:
            return StreamResult(self._stop.reason)
        failed = list(takewhile(lambda use: use.is_error, reversed(self.tool_uses)))
        if len(failed) >= MAX_ERRORS_IN_A_ROW:
            return _error_result(
                f"{len(failed)} calls of tools in a row failed, the last one with: {failed[0].content[:300]}"
            )
        if rounds == STILL_WORKING_ROUND:
            await self._turn.emit_notice(
                "still_working", f"Still working: tools were called {rounds} times over."
            )
        return None

    def _add_result(self, result: StreamResult) -> None:
        before, lesson_items = (
            self._combined,
            concatenate_lesson_items(self._combined.lesson_items, result.lesson_items),
        )
        gap = "" if self._turn.with_actions else PARAGRAPH_BREAK
        self._combined = replace(
            before,
            text=_join_text(before.text, result.text, gap),
            thoughts=_join_text(before.thoughts, result.thoughts, PARAGRAPH_BREAK),
            details=_join_text(before.details, result.details, PARAGRAPH_BREAK),
            lesson_items=lesson_items,
            first_token_seconds=before.first_token_seconds
            if before.first_token_seconds is not None
            else result.first_token_seconds,
        )

    def _combine_results(self, result: StreamResult) -> StreamResult:
        """Make one result of all rounds, which ended as the last one did."""
        last = {name: getattr(result, name) for name in ("status", "finish", "fault")}
        return replace(self._combined, **last)

    def _continuation_emit(self) -> Emit:
        gap = "" if self._turn.with_actions else PARAGRAPH_BREAK
        return ContinuationEmitter(self._emit, self._combined.text, self._combined.thoughts, gap)


class ContinuationEmitter:
    """Tells of a further round as of more of the same text."""

    def __init__(self, emit: Emit, text: str, thoughts: str, gap: str) -> None:
        self._emit = emit
        self._text = text
        self._before_text = gap if text else ""
        self._before_thoughts = PARAGRAPH_BREAK if thoughts else ""
        self._gap = self._before_text

    async def __call__(self, events: list[Event]) -> None:
        await self._emit([told for event in events for told in self._adapt_event(event)])

    def _adapt_event(self, event: Event) -> list[Event]:
        match event:
            case TextDelta(text=text):
                gap, self._before_text = self._before_text, ""
                return [replace(event, text=gap + text)]
            case ThoughtDelta(text=text):
                gap, self._before_thoughts = self._before_thoughts, ""
                return [replace(event, text=gap + text)]
            case TextRetracted() if self._text:  # of this round alone: what came before it stays
                self._before_text = self._gap
                at = event.turn_key
                again = TextDelta(participant=at.participant, stage=at.stage, round=at.round, text=self._text)
                return [event, again]
        return [event]


def _join_text(text: str, more: str, gap: str) -> str:
    return f"{text}{gap}{more}" if text and more else text or more


def _error_result(words: str) -> StreamResult:
    trouble: Fault = make_fault("bad_response", words, retryable=False)
    return StreamResult("error", fault=trouble)
