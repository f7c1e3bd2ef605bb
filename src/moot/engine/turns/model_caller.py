"""One participant's turn: models in order, keys within a model, and a retry only before text was shown.

Every turn ends with a TurnEnded, whatever went wrong on the way; whoever let it speak keeps and tells it.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from moot.engine import telemetry
from moot.engine.tools.toolset import Round, Toolkit
from moot.engine.turns.attempts import ActOf, Attempts, MeasureOf
from moot.engine.turns.outcomes import explained, giving_up, was_shown
from moot.engine.turns.tool_loop import Afford, ToolLoop, at_any_price
from moot.prompts.attachments import has_files, readable
from moot.providers.keys import Key
from moot.providers.registry import Resolved
from moot.streaming.cancellation import Stop
from moot.streaming.speaker_labels import Names
from moot.streaming.turn_stream import Emit, Limits, StreamResult, listen
from moot.types.events import Event, Seat, TurnEnded
from moot.types.faults import Fault, fault
from moot.types.model_info import Measure
from moot.types.requests import ModelRequest, unsigned

TRIES = 3  # asks of one model, over all its keys
PATIENCE = 20.0  # seconds that a rate limit may ask us to wait
LONGEST_PAUSE = 1.0  # seconds after which Moot asks itself again, unless it must wait longer
BUSY = "Moot itself makes as many calls of models as it may in a minute."
CROWDED = f"{BUSY} Try again in a moment, or raise model_calls_a_minute under [rates] in moot.toml."
BACKOFF = 0.5  # seconds before the first retry, doubled for each further one, with jitter

Admit = Callable[[], Awaitable[float | None]]  # None, or the seconds after which to ask again

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
        kit: Toolkit | None = None,
        afford: Afford = at_any_price,
        names: Names | None = None,
    ) -> TurnEnded:
        """Ask the first model of the chain and, where it fails before it said anything, the next ones.

        By `measure` tokens are guessed where a model does not count them. With `act_of`, an answer is an array of
        speech and actions; each attempt is an act of its own. What is in the `kit` may be called; `afford` is told what
        that has cost, between two rounds of it. An answer in which another of the `names` speaks is thrown away and asked
        for again, a few times.
        """
        turn = Attempts(seat, stop, emit, measure, act_of, names)
        if kit is not None:
            request = msgspec.structs.replace(request, tools=kit.offered)
        result = await self._ask_any(turn, chain, request)
        if result.status != "tool_call":
            return turn.ended(result)
        if kit is None:
            await Toolkit().use(  # which tells that there are none
                result.tool_calls, Round(seat=seat, stop=stop, hurry=stop, emit=emit)
            )
            return turn.ended(result)
        loop = ToolLoop(turn, kit, lambda more: self._ask_any(turn, _from(turn.model, chain), more), afford)
        result = await loop.run(request, result)
        return turn.ended(result, tuple(loop.uses))

    async def _ask_any(
        self, turn: Attempts, chain: Sequence[Resolved], request: ModelRequest
    ) -> StreamResult:
        for place, model in enumerate(chain):
            turn.model = model
            try:
                result = await self._ask(turn, request)
            except NotAdmitted as refused:
                return refused.result
            if not _may_ask_on(result) or place == len(chain) - 1:
                return result
            then, why = chain[place + 1].name, result.fault.message if result.fault else ""
            await turn.notice("fallback", f"{why} {then} is asked instead of {model.name}.")
            request = unsigned(request)
        raise AssertionError("the last model returns")

    async def answer(
        self, chain: Sequence[Resolved], request: ModelRequest, stop: Stop, emit: Emit = unheard
    ) -> TurnEnded:
        """Ask as for a turn of nobody at a table."""
        ended = await self.speak(NOBODY, chain, request, stop, emit)
        telemetry.count_turn(ended)
        return ended

    async def _ask(self, turn: Attempts, request: ModelRequest) -> StreamResult:
        """Ask one model up to three times, with the best key each time."""
        tried: set[str] = set()
        key = turn.model.keys.next(tried)
        for attempt in range(1, TRIES + 1):
            result = await self._once(turn, request, key)
            if not _may_ask_on(result):
                return result
            other = self._other_key(turn.model, key, result.fault, tried)
            if attempt == TRIES or (attempt > 1 and result.status == "timeout"):
                return giving_up(result, attempt)
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

    async def _once(self, turn: Attempts, request: ModelRequest, key: Key | None) -> StreamResult:
        """Ask, and ask again while it is not its own words that the model says."""
        while (result := await self._heard(turn, request, key)).foreign is not None:
            await turn.throw_away(result.foreign)
        return result

    async def _heard(self, turn: Attempts, request: ModelRequest, key: Key | None) -> StreamResult:
        if turn.stop.reason:
            return StreamResult(turn.stop.reason)
        await self._admitted(turn)
        if key is not None:
            key.uses += 1
        await turn.start()
        ask = await _for_model(request, turn.model)
        stream = turn.model.provider.stream(ask, key.secret if key else None)
        result = await listen(
            stream,
            turn.seat,
            turn.stop,
            self._limits,
            turn.emit,
            turn.act(),
            introduction=turn.introduction(),
            tools=bool(ask.tools),
            said=turn.said,
        )
        await turn.count(ask, result)
        return explained(result, turn.model, key)

    async def _admitted(self, turn: Attempts) -> None:
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

    async def _waited(self, turn: Attempts, result: StreamResult, attempt: int) -> bool:
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


async def _for_model(request: ModelRequest, model: Resolved) -> ModelRequest:
    """Address a request to a model, with words for the files that it cannot read, and no tools that it cannot call."""
    ask = msgspec.structs.replace(request, model=model.model)
    if not has_files(ask) and not ask.tools:
        return ask
    profile = await asyncio.to_thread(model.provider.profile, model.model)
    if not profile.tools:
        ask = msgspec.structs.replace(ask, tools=())
    return readable(ask, profile.files) if has_files(ask) else ask


def _from(model: Resolved, chain: Sequence[Resolved]) -> Sequence[Resolved]:
    return chain[next(place for place, one in enumerate(chain) if one is model) :]


def _may_ask_on(result: StreamResult) -> bool:
    """Whether asking again, or somebody else, is right: nothing was shown and nobody said stop."""
    blocked = result.fault is not None and result.fault.kind == "content_blocked"
    return result.status in {"error", "timeout", "empty_response"} and not was_shown(result) and not blocked


def _another_key_may_help(trouble: Fault) -> bool:
    return trouble.kind in {"auth", "rate_limit", "overloaded"} or (
        trouble.kind == "api_error" and trouble.retryable
    )
