"""One participant's turn: models in order, keys within a model, and a retry only before text was shown.

Every turn ends with a TurnEnded, whatever went wrong on the way; whoever let it speak keeps and tells it.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from moot.context.attachments import has_files, readable
from moot.engine import metrics
from moot.engine.estimate import estimate
from moot.model.chunks import Usage
from moot.model.events import (
    ENDED_BY,
    Answer,
    Event,
    Notice,
    NoticeKind,
    Seat,
    TurnEnded,
    TurnStarted,
    TurnStatus,
)
from moot.model.faults import Fault, Kind, fault
from moot.model.measures import Measure
from moot.model.money import total
from moot.model.requests import ModelRequest
from moot.providers.keys import Key
from moot.providers.registry import Resolved
from moot.streams.act import Act
from moot.streams.stop import Stop
from moot.streams.turn import Emit, Limits, StreamResult, listen

TRIES = 3  # asks of one model, over all its keys
PATIENCE = 20.0  # seconds that a rate limit may ask us to wait
LONGEST_PAUSE = 1.0  # seconds after which Moot asks itself again, unless it must wait longer
BUSY = "Moot itself makes as many calls of models as it may in a minute."
CROWDED = f"{BUSY} Try again in a moment, or raise model_calls_a_minute under [rates] in moot.toml."
ADVICE: Mapping[Kind, str] = {
    "rate_limit": "Try again later, or choose another model.",
    "overloaded": "Try again later, or choose another model.",
    "timeout": "Try again, or choose a faster model.",
}
BACKOFF = 0.5  # seconds before the first retry, doubled for each further one, with jitter

ActOf = Callable[[], Act]
Admit = Callable[[], Awaitable[float | None]]  # None, or the seconds after which to ask again


MeasureOf = Callable[[str], Measure]

NOBODY = Seat("nobody")


async def at_any_time() -> None:
    """Let every call be made at once."""


async def unheard(_: list[Event]) -> None:
    """Tell nobody."""


def unmeasured(_: str) -> Measure:
    """Know nothing of a model."""
    return Measure()


class NotAdmitted(Exception):
    """Moot itself makes as many calls as it may, or a stop came first: no other key or model can help."""

    def __init__(self, result: StreamResult) -> None:
        super().__init__()
        self.result = result


class Speaker:
    """Before each attempt `admit` is asked whether a call may be made now."""

    def __init__(
        self,
        limits: Limits | None = None,
        patience: float = PATIENCE,
        backoff: float = BACKOFF,
        jitter: Callable[[], float] = random.random,
        admit: Admit = at_any_time,
    ) -> None:
        self._limits = limits or Limits()
        self._patience = patience
        self._backoff = backoff
        self._jitter = jitter
        self._admit = admit

    async def speak(
        self,
        seat: Seat,
        chain: Sequence[Resolved],
        request: ModelRequest,
        stop: Stop,
        emit: Emit,
        measure: MeasureOf = unmeasured,
        act_of: ActOf | None = None,
    ) -> TurnEnded:
        """Ask the first model of the chain and, where it fails before it said anything, the next ones.

        By `measure` tokens are guessed where a model does not count them. With `act_of`, an answer is an array of
        speech and actions; each attempt is an act of its own.
        """
        turn = Turn(seat, stop, emit, measure, act_of)
        for place, model in enumerate(chain):
            turn.model = model
            try:
                result = await self._ask(turn, request)
            except NotAdmitted as refused:
                return turn.ended(refused.result)
            if not _may_ask_on(result) or place == len(chain) - 1:
                break
            then, why = chain[place + 1].name, result.fault.message if result.fault else ""
            await turn.notice("fallback", f"{why} {then} is asked instead of {model.name}.")
        return turn.ended(result)

    async def answer(
        self, chain: Sequence[Resolved], request: ModelRequest, stop: Stop, emit: Emit = unheard
    ) -> TurnEnded:
        """Ask as for a turn of nobody at a table."""
        ended = await self.speak(NOBODY, chain, request, stop, emit)
        metrics.count_turn(ended)
        return ended

    async def _ask(self, turn: "Turn", request: ModelRequest) -> StreamResult:
        """Ask one model up to three times, with the best key each time."""
        tried: set[str] = set()
        key = turn.model.keys.next(tried)
        for attempt in range(1, TRIES + 1):
            result = await self._once(turn, request, key)
            if not _may_ask_on(result):
                return result
            other = self._other_key(turn.model, key, result.fault, tried)
            if attempt == TRIES or (attempt > 1 and result.status == "timeout"):
                return _giving_up(result, attempt)
            if other is not None and result.fault is not None:
                await turn.notice("next_key", f"{result.fault.message} Trying the key from {other.source}.")
                key = other
                continue
            if not await self._waited(turn, result, attempt):
                return turn.stopped_or(result)
        raise AssertionError("the last attempt returns")

    def _other_key(
        self, model: Resolved, key: Key | None, trouble: Fault | None, tried: set[str]
    ) -> Key | None:
        """Let a key rest that may be to blame, and find the one to try instead."""
        if key is None or trouble is None or not _another_key_may_help(trouble):
            return None
        model.keys.cool(key, trouble)
        tried.add(key.source)
        return model.keys.next(tried)

    async def _once(self, turn: "Turn", request: ModelRequest, key: Key | None) -> StreamResult:
        if turn.stop.reason:
            return StreamResult(turn.stop.reason)
        await self._admitted(turn)
        if key is not None:
            key.uses += 1
        await turn.start()
        ask = await _for_model(request, turn.model)
        stream = turn.model.provider.stream(ask, key.secret if key else None)
        act = turn.act_of() if turn.act_of else None
        result = await listen(stream, turn.seat, turn.stop, self._limits, turn.emit, act)
        await turn.count(ask, result)
        return _explained(result, turn.model, key)

    async def _admitted(self, turn: "Turn") -> None:
        """Wait until a call may be made, as long as that makes sense."""
        waited, pause = 0.0, 0.0
        while (seconds := await self._admit()) is not None:
            pause = max(seconds, min(2 * pause, LONGEST_PAUSE))
            if waited + pause > self._patience:
                raise NotAdmitted(StreamResult("error", fault=fault("rate_limit", CROWDED)))
            if not waited:
                await turn.notice("waiting", f"{BUSY} Waiting.")
            if await turn.stop.sleep(pause):
                raise NotAdmitted(StreamResult(turn.stop.reason or "stopped_by_user"))
            waited += pause

    async def _waited(self, turn: "Turn", result: StreamResult, attempt: int) -> bool:
        """Wait as long as it makes sense before the same is asked again; False is: do not ask again."""
        trouble = result.fault
        if trouble is None or not trouble.retryable:
            return False
        seconds = trouble.retry_after
        if seconds is None:
            seconds = self._backoff * 2 ** (attempt - 1) * (0.5 + self._jitter())
            if result.status == "empty_response":
                await turn.notice("asked_again", "The answer was empty; asking again.")
            else:
                await turn.notice("retry", f"{trouble.message} Trying again.")
        elif seconds <= self._patience:
            await turn.notice("waiting", f"{trouble.message} Waiting {seconds:.3g} s.")
        else:
            return False
        return not await turn.stop.sleep(seconds)


class Turn:
    """What is known of a turn while its attempts go on."""

    model: Resolved

    def __init__(self, seat: Seat, stop: Stop, emit: Emit, measure: MeasureOf, act_of: ActOf | None) -> None:
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

    async def start(self) -> None:
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

    def ended(self, result: StreamResult) -> TurnEnded:
        result = _with_advice(result)
        first = result.first_token
        return TurnEnded(
            participant=self.seat.participant,
            stage=self.seat.stage,
            round=self.seat.round,
            status=_status(result),
            message=Answer(result.text, result.thoughts, result.details, result.script),
            model=self.model.name,
            usage=self._usage,
            cost=self._cost,
            finish=result.finish,
            fault=result.fault,
            first_token=None if first is None else round(self._waited + first, 4),
            latency=self._latency,
        )


async def _for_model(request: ModelRequest, model: Resolved) -> ModelRequest:
    """Address a request to a model, with words for the files that it cannot read."""
    ask = msgspec.structs.replace(request, model=model.model)
    if not has_files(ask):
        return ask
    profile = await asyncio.to_thread(model.provider.profile, model.model)
    return readable(ask, profile.files)


def _status(result: StreamResult) -> TurnStatus:
    match result.status:
        case "completed" | "tool_call":
            return "completed"
        case "stopped_by_user" | "follow_up_interrupt" | "late" | "over_cap" as reason:
            return ENDED_BY[reason]
    return "partial" if _shown(result) else "failed"


def _may_ask_on(result: StreamResult) -> bool:
    """Whether asking again, or somebody else, is right: nothing was shown and nobody said stop."""
    blocked = result.fault is not None and result.fault.kind == "content_blocked"
    return result.status in {"error", "timeout", "empty_response"} and not _shown(result) and not blocked


def _shown(result: StreamResult) -> bool:
    return bool(result.text or result.script)


def _another_key_may_help(trouble: Fault) -> bool:
    return trouble.kind in {"auth", "rate_limit", "overloaded"} or (
        trouble.kind == "api_error" and trouble.retryable
    )


def _explained(result: StreamResult, model: Resolved, key: Key | None) -> StreamResult:
    """Say who failed and, where a key was rejected, which one, so that its owner knows what to mend."""
    if result.fault is None:
        return result
    words = result.fault.message
    if model.provider.name not in words:
        words = f"{model.name}: {words}"
    if key is not None and result.fault.kind == "auth":
        words = f"{words} It came from {key.source}."
    return _saying(result, result.fault, words)


def _giving_up(result: StreamResult, tries: int) -> StreamResult:
    if result.fault is None or not result.fault.retryable:
        return result
    return _saying(result, result.fault, f"{result.fault.message} Gave up after {tries} tries.")


def _with_advice(result: StreamResult) -> StreamResult:
    """Say what to do about what failed, where the words do not say so yet."""
    trouble = result.fault
    if trouble is None or _shown(result) or trouble.kind not in ADVICE or "Try again" in trouble.message:
        return result
    return _saying(result, trouble, f"{trouble.message} {ADVICE[trouble.kind]}")


def _saying(result: StreamResult, trouble: Fault, words: str) -> StreamResult:
    return msgspec.structs.replace(result, fault=msgspec.structs.replace(trouble, message=words))
