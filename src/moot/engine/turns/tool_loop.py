"""Tool loop of a turn: executes tool calls, sends the results to the model, and repeats until it answers.

All rounds form one answer: text before a call is kept, and is part of the next request.
"""

from collections.abc import Awaitable, Callable
from itertools import takewhile

from msgspec.structs import asdict, replace

from moot.engine.tools.toolset import ToolCallContext, Toolset
from moot.engine.turns.attempts import TurnAttempts
from moot.streaming.cancellation import StopSignal
from moot.streaming.lesson_turn import concatenate_lesson_items
from moot.streaming.turn_stream import Emit, StreamResult
from moot.types.events import Event, TextDelta, TextRetracted, ThoughtDelta
from moot.types.faults import make_fault
from moot.types.requests import ModelMessage, ModelRequest
from moot.types.tools import ToolUse

MAX_TOOL_ROUNDS = 100
STILL_WORKING_ROUND = 20  # after this round, a notice tells users that the turn is active
MAX_ERRORS_IN_A_ROW = 5
PARAGRAPH_BREAK = "\n\n"

CallModel = Callable[[ModelRequest], Awaitable[StreamResult]]
EnforceCostLimits = Callable[[float], Awaitable[None]]


async def ignore_cost_limits(_: float) -> None:
    """Default without limits."""


class ToolLoop:
    """`enforce_cost_limits` is called between rounds with the cost of the turn; it may request a stop."""

    def __init__(
        self, turn: TurnAttempts, toolset: Toolset, call_model: CallModel, enforce_cost_limits: EnforceCostLimits
    ) -> None:
        self.tool_uses: list[ToolUse] = []
        self._turn = turn
        self._toolset = toolset
        self._call_model = call_model
        self._enforce_cost_limits = enforce_cost_limits
        self._combined = StreamResult("completed")
        self._text_gap = "" if turn.with_actions else PARAGRAPH_BREAK
        self._emit = turn.emit
        self._approval_stop = turn.stop
        # A follow-up message does not interrupt tool calls, which may have effects. It is queued until the end.
        self._stop = StopSignal(turn.stop, ignored_reason="follow_up_interrupt")

    async def run_rounds(self, request: ModelRequest, result: StreamResult) -> StreamResult:
        """Continue from a result with tool calls; return the combined result of all rounds."""
        for done in range(1, MAX_TOOL_ROUNDS + 1):
            self._add_result(result)
            request = await self._call_tools(request, result)
            if (end := await self._check_end(done)) is not None:
                return self._combine_results(end)
            emit = ContinuationEmitter(self._emit, self._combined, self._text_gap)
            self._turn.continue_answer(emit, self._stop, has_text=bool(self._combined.text))
            result = await self._call_model(request)
            if result.status != "tool_call":
                self._add_result(result)
                return self._combine_results(result)
        message = f"The model called tools in {MAX_TOOL_ROUNDS} rounds without finishing, so the turn was ended."
        return self._combine_results(_error_result(message))

    async def _call_tools(self, request: ModelRequest, result: StreamResult) -> ModelRequest:
        """Execute the calls of a result, and return the next request, with the result and the tool results."""
        records = await self._toolset.call_tools(
            result.tool_calls,
            ToolCallContext(
                turn_key=self._turn.turn_key,
                stop=self._stop,
                approval_stop=self._approval_stop,
                emit=self._emit,
                text_length=len(self._combined.text),
            ),
        )
        self.tool_uses += [record.tool_use for record in records]
        more = (
            ModelMessage("assistant", result.parts),
            ModelMessage("user", tuple(record.result for record in records)),
        )
        return replace(request, messages=(*request.messages, *more))

    async def _check_end(self, rounds: int) -> StreamResult | None:
        """Return the result with which the loop ends, or None if it continues."""
        if self._stop.reason is None:
            await self._enforce_cost_limits(self._turn.cost)
        if self._stop.reason is not None:
            return StreamResult(self._stop.reason)
        failed = list(takewhile(lambda use: use.is_error, reversed(self.tool_uses)))
        if len(failed) >= MAX_ERRORS_IN_A_ROW:
            return _error_result(f"{len(failed)} tool calls in a row failed. The last error: {failed[0].content[:300]}")
        if rounds == STILL_WORKING_ROUND:
            await self._turn.emit_notice("still_working", f"Still working: {rounds} rounds of tool calls.")
        return None

    def _add_result(self, result: StreamResult) -> None:
        before, first_token_seconds = self._combined, self._combined.first_token_seconds
        self._combined = replace(
            before,
            text=_join_text(before.text, result.text, self._text_gap),
            thoughts=_join_text(before.thoughts, result.thoughts, PARAGRAPH_BREAK),
            details=_join_text(before.details, result.details, PARAGRAPH_BREAK),
            lesson_items=concatenate_lesson_items(before.lesson_items, result.lesson_items),
            first_token_seconds=result.first_token_seconds if first_token_seconds is None else first_token_seconds,
        )

    def _combine_results(self, result: StreamResult) -> StreamResult:
        """Return the text of all rounds with the status of the last one."""
        last = {name: getattr(result, name) for name in ("status", "finish", "fault")}
        return replace(self._combined, **last)


class ContinuationEmitter:
    """Emits a later round as a continuation of the text in `earlier`."""

    def __init__(self, emit: Emit, earlier: StreamResult, gap: str) -> None:
        self._emit = emit
        self._text = earlier.text
        self._before_text = gap if earlier.text else ""
        self._before_thoughts = PARAGRAPH_BREAK if earlier.thoughts else ""
        self._gap = self._before_text

    async def __call__(self, events: list[Event]) -> None:
        await self._emit([adapted for event in events for adapted in self._adapt_event(event)])

    def _adapt_event(self, event: Event) -> list[Event]:
        match event:
            case TextDelta(text=text):
                gap, self._before_text = self._before_text, ""
                return [replace(event, text=gap + text)]
            case ThoughtDelta(text=text):
                gap, self._before_thoughts = self._before_thoughts, ""
                return [replace(event, text=gap + text)]
            case TextRetracted() if self._text:  # clients drop all text, so send that of earlier rounds again
                self._before_text = self._gap
                return [event, TextDelta(**asdict(event.turn_key), text=self._text)]
        return [event]


def _join_text(text: str, more: str, gap: str) -> str:
    return f"{text}{gap}{more}" if text and more else text or more


def _error_result(message: str) -> StreamResult:
    return StreamResult("error", fault=make_fault("bad_response", message, retryable=False))
