"""One participant's turn: models in order, keys within a model, and a retry only before text was shown.

Every turn ends with a TurnEnded, whatever went wrong on the way; whoever let it speak keeps and tells it.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from moot.engine import telemetry
from moot.engine.tools.toolset import ToolCallContext, Toolset
from moot.engine.turns.attempts import GetModelLimits, NewLessonParser, TurnAttempts
from moot.engine.turns.outcomes import add_attempt_count, explain_fault, has_visible_text
from moot.engine.turns.tool_loop import EnforceBudget, ToolLoop, ignore_budget
from moot.prompts.attachments import has_files, replace_unreadable_files
from moot.providers.keys import Key
from moot.providers.registry import ResolvedModel
from moot.streaming.cancellation import StopSignal
from moot.streaming.speaker_labels import SpeakerNames
from moot.streaming.turn_stream import Emit, Limits, StreamResult, consume_stream
from moot.types.events import Event, TurnEnded, TurnKey
from moot.types.faults import Fault, make_fault
from moot.types.model_info import ModelLimits
from moot.types.requests import ModelRequest, strip_signatures

MAX_ATTEMPTS = 3  # asks of one model, over all its keys
MAX_WAIT_SECONDS = 20.0  # seconds that a rate limit may ask us to wait
MAX_PAUSE_SECONDS = 1.0  # seconds after which Moot asks itself again, unless it must wait longer
CALL_LIMIT_REACHED = "Moot itself makes as many calls of models as it may in a minute."
CALL_LIMIT_ADVICE = (
    f"{CALL_LIMIT_REACHED} Try again in a moment, or raise model_calls_a_minute under [rates] in moot.toml."
)
BACKOFF_SECONDS = 0.5  # seconds before the first retry, doubled for each further one, with jitter

AcquireCall = Callable[[], Awaitable[float | None]]  # None, or the seconds after which to ask again

NO_PARTICIPANT = TurnKey("nobody")


async def allow_every_call() -> None:
    """Let every call be made at once."""


async def discard_events(_: list[Event]) -> None:
    """Tell nobody."""


def unknown_model_limits(_: str) -> ModelLimits:
    """Know nothing of a model."""
    return ModelLimits()


class CallNotAllowed(Exception):
    """Moot itself makes as many calls as it may, or a stop came first: no other key or model can help."""

    def __init__(self, result: StreamResult) -> None:
        super().__init__()
        self.result = result


class ModelCaller:
    """Before each attempt `admit` is asked whether a call may be made now."""

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
        enforce_budget: EnforceBudget = ignore_budget,
        names: SpeakerNames | None = None,
    ) -> TurnEnded:
        """Ask the first model of the chain and, where it fails before it said anything, the next ones.

        By `measure` tokens are guessed where a model does not count them. With `act_of`, an answer is an array of
        speech and actions; each attempt is an act of its own. What is in the `kit` may be called; `afford` is told what
        that has cost, between two rounds of it. An answer in which another of the `names` speaks is thrown away and asked
        for again, a few times.
        """
        turn = TurnAttempts(turn_key, stop, emit, get_model_limits, new_lesson_parser, names)
        if toolset is not None:
            request = msgspec.structs.replace(request, tools=toolset.tool_definitions)
        result = await self._call_with_fallbacks(turn, chain, request)
        if result.status != "tool_call":
            return turn.build_turn_end(result)
        if toolset is None:
            await Toolset().call_tools(  # which tells that there are none
                result.tool_calls,
                ToolCallContext(turn_key=turn_key, stop=stop, approval_stop=stop, emit=emit),
            )
            return turn.build_turn_end(result)
        loop = ToolLoop(
            turn,
            toolset,
            lambda more: self._call_with_fallbacks(turn, _remaining_models(turn.model, chain), more),
            enforce_budget,
        )
        result = await loop.run_rounds(request, result)
        return turn.build_turn_end(result, tuple(loop.tool_uses))

    async def _call_with_fallbacks(
        self, turn: TurnAttempts, chain: Sequence[ResolvedModel], request: ModelRequest
    ) -> StreamResult:
        for place, model in enumerate(chain):
            turn.model = model
            try:
                result = await self._call_model(turn, request)
            except CallNotAllowed as refused:
                return refused.result
            if not _can_retry(result) or place == len(chain) - 1:
                return result
            then, why = chain[place + 1].name, result.fault.message if result.fault else ""
            await turn.emit_notice("fallback", f"{why} {then} is asked instead of {model.name}.")
            request = strip_signatures(request)
        raise AssertionError("the last model returns")

    async def complete_request(
        self,
        chain: Sequence[ResolvedModel],
        request: ModelRequest,
        stop: StopSignal,
        emit: Emit = discard_events,
    ) -> TurnEnded:
        """Ask as for a turn of nobody at a table."""
        ended = await self.call(NO_PARTICIPANT, chain, request, stop, emit)
        telemetry.count_turn(ended)
        return ended

    async def _call_model(self, turn: TurnAttempts, request: ModelRequest) -> StreamResult:
        """Ask one model up to three times, with the best key each time."""
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
                await turn.emit_notice(
                    "next_key", f"{result.fault.message} Trying the key from {other.source}."
                )
                key = other
                continue
            if not await self._wait_before_retry(turn, result, attempt):
                return turn.stop_result_or(result)
        raise AssertionError("the last attempt returns")

    def _next_key(
        self, model: ResolvedModel, key: Key | None, trouble: Fault | None, tried: set[str]
    ) -> Key | None:
        """Let a key rest that may be to blame, and find the one to try instead."""
        if key is None or trouble is None or not _can_other_key_help(trouble):
            return None
        model.keys.cool_down(key, trouble)
        tried.add(key.source)
        return model.keys.select_key(tried)

    async def _call_until_accepted(
        self, turn: TurnAttempts, request: ModelRequest, key: Key | None
    ) -> StreamResult:
        """Ask, and ask again while it is not its own words that the model says."""
        while (result := await self._stream_attempt(turn, request, key)).impersonated is not None:
            await turn.reject_answer(result.impersonated)
        return result

    async def _stream_attempt(
        self, turn: TurnAttempts, request: ModelRequest, key: Key | None
    ) -> StreamResult:
        if turn.stop.reason:
            return StreamResult(turn.stop.reason)
        await self._wait_for_call_limit(turn)
        if key is not None:
            key.uses += 1
        await turn.start_attempt()
        ask = await _adapt_request(request, turn.model)
        stream = turn.model.provider.stream_chunks(ask, key.secret if key else None)
        result = await consume_stream(
            stream,
            turn.turn_key,
            turn.stop,
            self._limits,
            turn.emit,
            turn.start_lesson_parser(),
            label_filter=turn.new_label_filter(),
            has_tools=bool(ask.tools),
            has_spoken=turn.has_text,
        )
        await turn.count_usage(ask, result)
        return explain_fault(result, turn.model, key)

    async def _wait_for_call_limit(self, turn: TurnAttempts) -> None:
        """Wait until a call may be made, as long as that makes sense."""
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
        """Wait as long as it makes sense before the same is asked again; False is: do not ask again."""
        trouble = result.fault
        if trouble is None or not trouble.retryable:
            return False
        seconds = trouble.retry_after
        if seconds is None:
            seconds = self._backoff_seconds * 2 ** (attempt - 1) * (0.5 + self._jitter())
            if result.status == "empty_response":
                await turn.emit_notice("asked_again", "The answer was empty; asking again.")
            else:
                await turn.emit_notice("retry", f"{trouble.message} Trying again.")
        elif seconds <= self._max_wait_seconds:
            await turn.emit_notice("waiting", f"{trouble.message} Waiting {seconds:.3g} s.")
        else:
            return False
        return not await turn.stop.sleep_unless_stopped(seconds)


async def _adapt_request(request: ModelRequest, model: ResolvedModel) -> ModelRequest:
    """Address a request to a model, with words for the files that it cannot read, and no tools that it cannot call."""
    ask = msgspec.structs.replace(request, model=model.model)
    if not has_files(ask) and not ask.tools:
        return ask
    profile = await asyncio.to_thread(model.provider.model_profile, model.model)
    if not profile.tools:
        ask = msgspec.structs.replace(ask, tools=())
    return replace_unreadable_files(ask, profile.files) if has_files(ask) else ask


def _remaining_models(model: ResolvedModel, chain: Sequence[ResolvedModel]) -> Sequence[ResolvedModel]:
    return chain[next(place for place, one in enumerate(chain) if one is model) :]


def _can_retry(result: StreamResult) -> bool:
    """Whether asking again, or somebody else, is right: nothing was shown and nobody said stop."""
    blocked = result.fault is not None and result.fault.kind == "content_blocked"
    return (
        result.status in {"error", "timeout", "empty_response"}
        and not has_visible_text(result)
        and not blocked
    )


def _can_other_key_help(trouble: Fault) -> bool:
    return trouble.kind in {"auth", "rate_limit", "overloaded"} or (
        trouble.kind == "api_error" and trouble.retryable
    )
