"""A turn while its attempts go on: what was tried, what it used and cost, and how long it took."""

import asyncio
from collections.abc import Callable

import msgspec

from moot.engine.turns.outcomes import status_of, with_advice
from moot.engine.turns.token_estimates import estimate
from moot.providers.registry import Resolved
from moot.streaming.cancellation import Stop
from moot.streaming.lesson_turn import Act
from moot.streaming.speaker_labels import Introduction, Names
from moot.streaming.turn_stream import Emit, StreamResult
from moot.types.billing import total
from moot.types.chunks import Usage
from moot.types.events import Answer, Notice, NoticeKind, Seat, TurnEnded, TurnStarted
from moot.types.model_info import Measure
from moot.types.requests import ModelRequest
from moot.types.tools import ToolUse

ActOf = Callable[[], Act]
MeasureOf = Callable[[str], Measure]

MOST_THROWN_AWAY = 2  # answers in which somebody spoke as another


class Attempts:
    model: Resolved

    def __init__(
        self,
        seat: Seat,
        stop: Stop,
        emit: Emit,
        measure: MeasureOf,
        act_of: ActOf | None,
        names: Names | None = None,
    ) -> None:
        self.seat = seat
        self.stop = stop
        self.emit = emit
        self.act_of = act_of
        self._measure = measure
        self._attempts = 0
        self._usage = Usage()
        self._cost: float | None = 0.0
        self._clock = asyncio.get_running_loop().time
        self._started = self._clock()
        self._waited = 0.0
        self._latency = 0.0
        self._act: Act | None = None
        self.said = False  # in an earlier round, before tools were called
        self._going_on = False
        self._names = names
        self._thrown_away = 0

    @property
    def cost(self) -> float:
        """What the turn has cost until now, as far as prices are known."""
        return self._cost or 0.0

    @property
    def acting(self) -> bool:
        return self.act_of is not None

    def act(self) -> Act | None:
        """Begin an act, if that is how one speaks here."""
        self._act = self.act_of() if self.act_of else None
        return self._act

    def introduction(self) -> Introduction | None:
        """Begin to listen for who speaks, where there are names; what was told cannot be thrown away any more."""
        if self._names is None or self.acting:
            return None
        return Introduction(self._names, strict=not self._going_on and self._thrown_away < MOST_THROWN_AWAY)

    async def throw_away(self, foreign: str) -> None:
        self._thrown_away += 1
        await self.notice("asked_again", f"The answer began with words of {foreign}; asking again.")

    def go_on(self, emit: Emit, stop: Stop, *, said: bool) -> None:
        """Let what follows belong to the same answer: it does not begin anew."""
        self.emit, self.stop, self.said, self._going_on = emit, stop, said, True
        if self._act is not None:
            self.act_of = self._act.sequel

    async def start(self) -> None:
        if self._going_on:
            return
        self._attempts += 1
        self._waited = self._clock() - self._started
        await self.emit(
            [
                TurnStarted(
                    participant=self.seat.participant,
                    stage=self.seat.stage,
                    round=self.seat.round,
                    attempt=self._attempts,
                    model=self.model.name,
                )
            ]
        )

    async def notice(self, kind: NoticeKind, message: str) -> None:
        await self.emit([Notice(kind=kind, message=message, participant=self.seat.participant)])

    async def count(self, request: ModelRequest, result: StreamResult) -> None:
        """Add up what the attempt used, by the provider's count or else by our estimate."""
        self._latency = round(self._clock() - self._started, 4)
        rate = self._measure(self.model.name).characters_per_token
        usage, guess = result.usage, estimate(request, result.characters, rate)
        if usage is None:
            if not guess.output and result.fault is not None:
                return
            usage = guess
        elif result.finish is None and guess.output > usage.output:  # the count came before the words
            usage = msgspec.structs.replace(usage, output=guess.output, estimated=True)
        self._usage += usage
        cost = await asyncio.to_thread(self.model.provider.cost, self.model.model, usage)
        self._cost = total((self._cost, cost))

    def stopped_or(self, result: StreamResult) -> StreamResult:
        return StreamResult(self.stop.reason) if self.stop.reason else result

    def ended(self, result: StreamResult, tools: tuple[ToolUse, ...] = ()) -> TurnEnded:
        result = with_advice(result)
        first = result.first_token
        return TurnEnded(
            participant=self.seat.participant,
            stage=self.seat.stage,
            round=self.seat.round,
            status=status_of(result),
            message=Answer(result.text, result.thoughts, result.details, result.script, tools),
            model=self.model.name,
            usage=self._usage,
            cost=self._cost,
            finish=result.finish,
            fault=result.fault,
            first_token=None if first is None else round(self._waited + first, 4),
            latency=self._latency,
        )
