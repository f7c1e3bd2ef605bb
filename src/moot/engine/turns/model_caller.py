"""Model caller: calls a model with retries, other keys and fallback models.

A call is retried only while clients have received no text. Every error of a provider ends in a `TurnEnded`, which the
caller stores and sends.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from moot.engine import telemetry
from moot.engine.tools.toolset import ToolCallContext, Toolset
from moot.engine.turns.attempts import GetModelLimits, NewLessonParser, TurnAttempts
from moot.engine.turns.outcomes import add_attempt_count, explain_fault, has_visible_text
from moot.engine.turns.tool_loop import EnforceCostLimits, ToolLoop, ignore_cost_limits
from moot.prompts.attachments import has_files, replace_unreadable_files
from moot.providers.keys import Key
from moot.providers.registry import ResolvedModel
from moot.streaming.cancellation import StopSignal
from moot.streaming.speaker_labels import SpeakerNames
from moot.streaming.turn_stream import Emit, Limits, StreamConsumer, StreamResult, consume_stream
from moot.types.events import Event, TurnEnded, TurnKey
from moot.types.faults import Fault, make_fault
from moot.types.model_info import ModelLimits
from moot.types.requests import ModelRequest, strip_signatures

MAX_ATTEMPTS = 3  # requests to one model, over all its keys
MAX_WAIT_SECONDS = 20.0  # longest `retry_after` of a rate limit that is waited for
MAX_PAUSE_SECONDS = 1.0  # longest backoff between two checks of Moot's own call limit
CALL_LIMIT_REACHED = "Moot has reached its limit of model calls per minute."
CALL_LIMIT_ADVICE = (
    f"{CALL_LIMIT_REACHED} Try again in a moment, or raise model_calls_per_minute under [rates] in moot.toml."
)
BACKOFF_SECONDS = 0.5  # before the first retry; doubled for each further one, with jitter

AcquireCall = Callable[[], Awaitable[float | None]]  # None if allowed, or the seconds to wait

NO_PARTICIPANT = TurnKey("none")


async def allow_every_call() -> None:
    """Default without a rate limit."""


async def discard_events(_: list[Event]) -> None:
    """Default of a call without clients."""


def unknown_model_limits(_: str) -> ModelLimits:
    return ModelLimits()


class CallNotAllowed(Exception):
    """Moot's own call limit is reached, or a stop came first. No other key or model helps, so fallbacks are skipped."""

    def __init__(self, result: StreamResult) -> None:
        super().__init__()
        self.result = result


class ModelCaller:
    """`acquire_call` is awaited before each attempt and applies Moot's own rate limit."""

    def __init__(
        self,
        limits: Limits | None = None,
        max_wait_seconds: float = MAX_WAIT_SECONDS,
        backoff_seconds: float = BACKOFF_SECONDS,
        jitter: Callable[[], float] = random.random,
        acquire_call: AcquireCall = allow_every_call,
    ) -> None:
        self._limits = limits or Limits()
        self._max_wait_seconds = max_wait_seconds
        self._backoff_seconds = backoff_seconds
        self._jitter = jitter
        self._acquire_call = acquire_call

    async def call(
        self,
        turn_key: TurnKey,
        chain: Sequence[ResolvedModel],
        request: ModelRequest,
        stop: StopSignal,
        emit: Emit,
        get_model_limits: GetModelLimits = unknown_model_limits,
        new_lesson_parser: NewLessonParser | None = None,
        toolset: Toolset | None = None,
        enforce_cost_limits: EnforceCostLimits = ignore_cost_limits,
        names: SpeakerNames | None = None,
    ) -> TurnEnded:
        """Call the first model of the chain, and the next one if it fails before sending text.

        get_model_limits: characters per token, to estimate usage that the provider does not report.
        new_lesson_parser: the answer is a JSON array of speech and actions; each attempt gets a new parser.
        toolset: tools that the model may call.
        enforce_cost_limits: called with the cost between two rounds of tool calls; it may request a stop.
        names: an answer that speaks as another of these names is rejected and requested again, a few times.
        """
        turn = TurnAttempts(turn_key, stop, emit, get_model_limits, new_lesson_parser, names)
        if toolset is not None:
            request = msgspec.structs.replace(request, tools=toolset.tool_definitions)
        result = await self._call_with_fallbacks(turn, chain, request)
        if result.status != "tool_call":
            return turn.build_turn_end(result)
        if toolset is None:
            await Toolset().call_tools(  # emits the calls with an error: there are no tools
                result.tool_calls,
                ToolCallContext(turn_key=turn_key, stop=stop, approval_stop=stop, emit=emit),
            )
            return turn.build_turn_end(result)
        loop = ToolLoop(
            turn,
            toolset,
            lambda more: self._call_with_fallbacks(turn, _remaining_models(turn.model, chain), more),
            enforce_cost_limits,
        )
        result = await loop.run_rounds(request, result)
        return turn.build_turn_end(result, tuple(loop.tool_uses))

    async def _call_with_fallbacks(
        self, turn: TurnAttempts, chain: Sequence[ResolvedModel], request: ModelRequest
    ) -> StreamResult:
        for index, model in enumerate(chain):
            turn.model = model
            try:
                result = await self._call_model(turn, request)
            except CallNotAllowed as error:
                return error.result
            if not _can_retry(result) or index == len(chain) - 1:
                return result
            fallback, reason = chain[index + 1].name, result.fault.message if result.fault else ""
            await turn.emit_notice("fallback", f"{reason} {fallback} is asked instead of {model.name}.")
            request = strip_signatures(request)  # reasoning signatures are valid for one provider only
        raise AssertionError("the last model returns")

    async def complete_request(
        self, chain: Sequence[ResolvedModel], request: ModelRequest, stop: StopSignal, emit: Emit = discard_events
    ) -> TurnEnded:
        """Call a model outside a turn, for example to create a title or a summary."""
        ended = await self.call(NO_PARTICIPANT, chain, request, stop, emit)
        telemetry.count_turn(ended)
        return ended

    async def _call_model(self, turn: TurnAttempts, request: ModelRequest) -> StreamResult:
        """Call one model up to `MAX_ATTEMPTS` times, with the best available key each time."""
        tried: set[str] = set()
        key = turn.model.keys.select_key(tried)
        for attempt in range(1, MAX_ATTEMPTS + 1):
            result = await self._call_until_accepted(turn, request, key)
            if not _can_retry(result):
                return result
            other = self._next_key(turn.model, key, result.fault, tried)
            if attempt == MAX_ATTEMPTS or (attempt > 1 and result.status == "timeout"):
                return add_attempt_count(result, attempt)
            if other is not None and result.fault is not None:
                await turn.emit_notice("next_key", f"{result.fault.message} Trying the key from {other.source}.")
                key = other
                continue
            if not await self._wait_before_retry(turn, result, attempt):
                return turn.stop_result_or(result)
        raise AssertionError("the last attempt returns")

    def _next_key(self, model: ResolvedModel, key: Key | None, fault: Fault | None, tried: set[str]) -> Key | None:
        """Put a key that may have caused the fault into cooldown; return another key, or None."""
        if key is None or fault is None or not _can_other_key_help(fault):
            return None
        model.keys.cool_down(key, fault)
        tried.add(key.source)
        return model.keys.select_key(tried)

    async def _call_until_accepted(self, turn: TurnAttempts, request: ModelRequest, key: Key | None) -> StreamResult:
        """Repeat the request while the answer speaks as another participant."""
        while (result := await self._stream_attempt(turn, request, key)).impersonated is not None:
            await turn.reject_answer(result.impersonated)
        return result

    async def _stream_attempt(self, turn: TurnAttempts, request: ModelRequest, key: Key | None) -> StreamResult:
        if turn.stop.reason:
            return StreamResult(turn.stop.reason)
        await self._wait_for_call_limit(turn)
        if key is not None:
            key.uses += 1
        await turn.start_attempt()
        adapted = await _adapt_request(request, turn.model)
        stream = turn.model.provider.stream_chunks(adapted, key.secret if key else None)
        consumer = StreamConsumer(
            turn.turn_key,
            self._limits,
            turn.start_lesson_parser(),
            turn.new_label_filter(),
            has_tools=bool(adapted.tools),
            has_spoken=turn.has_text,
        )
        result = await consume_stream(stream, consumer, turn.stop, turn.emit)
        await turn.count_usage(adapted, result)
        return explain_fault(result, turn.model, key)

    async def _wait_for_call_limit(self, turn: TurnAttempts) -> None:
        """Wait for Moot's own call limit. Raises CallNotAllowed after `max_wait_seconds` or a stop."""
        waited, pause = 0.0, 0.0
        while (seconds := await self._acquire_call()) is not None:
            pause = max(seconds, min(2 * pause, MAX_PAUSE_SECONDS))
            if waited + pause > self._max_wait_seconds:
                raise CallNotAllowed(StreamResult("error", fault=make_fault("rate_limit", CALL_LIMIT_ADVICE)))
            if not waited:
                await turn.emit_notice("waiting", f"{CALL_LIMIT_REACHED} Waiting.")
            if await turn.stop.sleep_unless_stopped(pause):
                raise CallNotAllowed(StreamResult(turn.stop.reason or "stopped_by_user"))
            waited += pause

    async def _wait_before_retry(self, turn: TurnAttempts, result: StreamResult, attempt: int) -> bool:
        """Wait for `retry_after` or with backoff; return False if there is no retry.

        There is none if the fault is permanent, the wait would be too long, or a stop came.
        """
        fault = result.fault
        if fault is None or not fault.retryable:
            return False
        seconds = fault.retry_after
        if seconds is None:
            seconds = self._backoff_seconds * 2 ** (attempt - 1) * (0.5 + self._jitter())
            if result.status == "empty_response":
                await turn.emit_notice("asked_again", "The answer was empty; asking again.")
            else:
                await turn.emit_notice("retry", f"{fault.message} Trying again.")
        elif seconds <= self._max_wait_seconds:
            await turn.emit_notice("waiting", f"{fault.message} Waiting {seconds:.3g} s.")
        else:
            return False
        return not await turn.stop.sleep_unless_stopped(seconds)


async def _adapt_request(request: ModelRequest, model: ResolvedModel) -> ModelRequest:
    """Set the model name, replace files that the model cannot read, and remove tools if it supports none."""
    adapted = msgspec.structs.replace(request, model=model.model)
    if not has_files(adapted) and not adapted.tools:
        return adapted
    profile = await asyncio.to_thread(model.provider.model_profile, model.model)
    if not profile.tools:
        adapted = msgspec.structs.replace(adapted, tools=())
    return replace_unreadable_files(adapted, profile.files) if has_files(adapted) else adapted


def _remaining_models(model: ResolvedModel, chain: Sequence[ResolvedModel]) -> Sequence[ResolvedModel]:
    return chain[next(index for index, one in enumerate(chain) if one is model) :]


def _can_retry(result: StreamResult) -> bool:
    """Whether another attempt, key or model makes sense: the call failed before any text, and was not stopped.

    Blocked content is not retried, because other attempts would be blocked too.
    """
    blocked = result.fault is not None and result.fault.kind == "content_blocked"
    return result.status in {"error", "timeout", "empty_response"} and not has_visible_text(result) and not blocked


def _can_other_key_help(fault: Fault) -> bool:
    return fault.kind in {"auth", "rate_limit", "overloaded"} or (fault.kind == "api_error" and fault.retryable)
