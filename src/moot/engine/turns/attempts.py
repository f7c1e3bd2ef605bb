"""State of a turn across its attempts: model, usage, cost, latency, rejected answers."""

import asyncio
from collections.abc import Callable

from msgspec.structs import asdict, replace

from moot.engine.turns.outcomes import add_advice, turn_status
from moot.engine.turns.token_estimates import estimate_usage
from moot.providers.registry import ResolvedModel
from moot.streaming.cancellation import StopSignal
from moot.streaming.lesson_turn import LessonTurnParser
from moot.streaming.speaker_labels import SpeakerLabelFilter, SpeakerNames
from moot.streaming.turn_stream import Emit, StreamResult
from moot.types.billing import sum_costs
from moot.types.chunks import Usage
from moot.types.events import Answer, Notice, NoticeKind, TurnEnded, TurnKey, TurnStarted
from moot.types.model_info import ModelLimits
from moot.types.requests import ModelRequest
from moot.types.tools import ToolUse

NewLessonParser = Callable[[], LessonTurnParser]
GetModelLimits = Callable[[str], ModelLimits]

MAX_REJECTED_ANSWERS = 2  # answers that spoke as another participant; the next one is accepted


class TurnAttempts:
    model: ResolvedModel

    def __init__(
        self,
        turn_key: TurnKey,
        stop: StopSignal,
        emit: Emit,
        get_model_limits: GetModelLimits,
        new_lesson_parser: NewLessonParser | None,
        names: SpeakerNames | None = None,
    ) -> None:
        self.turn_key = turn_key
        self.stop = stop
        self.emit = emit
        self.new_lesson_parser = new_lesson_parser
        self._get_model_limits = get_model_limits
        self._attempt_count = 0
        self._usage = Usage()
        self._cost: float | None = 0.0
        self._clock = asyncio.get_running_loop().time
        self._started_at = self._clock()
        self._wait_seconds = 0.0
        self._latency = 0.0
        self._lesson_parser: LessonTurnParser | None = None
        self.has_text = False  # an earlier round of the tool loop has sent text
        self._is_continuation = False
        self._names = names
        self._rejected_answers = 0

    @property
    def cost(self) -> float:
        """US dollars until now; calls without a known price count 0."""
        return self._cost or 0.0

    @property
    def with_actions(self) -> bool:
        return self.new_lesson_parser is not None

    def start_lesson_parser(self) -> LessonTurnParser | None:
        """Return a new parser for this attempt, or None if the answer is plain text."""
        self._lesson_parser = self.new_lesson_parser() if self.new_lesson_parser else None
        return self._lesson_parser

    def new_label_filter(self) -> SpeakerLabelFilter | None:
        """Return a filter for this attempt, or None without names.

        It is strict only while an answer can still be rejected, that is before clients have received text.
        """
        if self._names is None or self.with_actions:
            return None
        strict = not self._is_continuation and self._rejected_answers < MAX_REJECTED_ANSWERS
        return SpeakerLabelFilter(self._names, strict=strict)

    async def reject_answer(self, impersonated: str) -> None:
        self._rejected_answers += 1
        await self.emit_notice("asked_again", f"The answer spoke as {impersonated}. Asking again.")

    def continue_answer(self, emit: Emit, stop: StopSignal, *, has_text: bool) -> None:
        """Treat later model calls as parts of the same answer: they emit no start event."""
        self.emit, self.stop, self.has_text, self._is_continuation = emit, stop, has_text, True
        if self._lesson_parser is not None:
            self.new_lesson_parser = self._lesson_parser.create_successor

    async def start_attempt(self) -> None:
        if self._is_continuation:
            return
        self._attempt_count += 1
        self._wait_seconds = self._clock() - self._started_at
        started = TurnStarted(**asdict(self.turn_key), attempt=self._attempt_count, model=self.model.name)
        await self.emit([started])

    async def emit_notice(self, kind: NoticeKind, message: str) -> None:
        await self.emit([Notice(kind=kind, message=message, participant=self.turn_key.participant)])

    async def count_usage(self, request: ModelRequest, result: StreamResult) -> None:
        """Add the usage and cost of an attempt, as reported by the provider or estimated."""
        self._latency = round(self._clock() - self._started_at, 4)
        rate = self._get_model_limits(self.model.name).characters_per_token
        usage, estimate = result.usage, estimate_usage(request, result.characters, rate)
        if usage is None:
            if not estimate.output and result.fault is not None:  # a failed request without output is free
                return
            usage = estimate
        elif result.finish is None and estimate.output > usage.output:  # the stream broke after an early count
            usage = replace(usage, output=estimate.output, estimated=True)
        self._usage += usage
        cost = await asyncio.to_thread(self.model.provider.call_cost_usd, self.model.model, usage)
        self._cost = sum_costs((self._cost, cost))

    def stop_result_or(self, result: StreamResult) -> StreamResult:
        return StreamResult(self.stop.reason) if self.stop.reason else result

    def build_turn_end(self, result: StreamResult, tools: tuple[ToolUse, ...] = ()) -> TurnEnded:
        result = add_advice(result)
        first = result.first_token_seconds
        return TurnEnded(
            **asdict(self.turn_key),
            status=turn_status(result),
            message=Answer(result.text, result.thoughts, result.details, result.lesson_items, tools),
            model=self.model.name,
            usage=self._usage,
            cost_usd=self._cost,
            finish_reason=result.finish,
            fault=result.fault,
            first_token_seconds=None if first is None else round(self._wait_seconds + first, 4),
            latency_seconds=self._latency,
        )
