"""The table that modes run on: every turn is a named step that reads a transcript, speaks, and is kept."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from msgspec import Struct

from moot.context.prompt import prompt
from moot.context.views import View, blind, everything
from moot.engine.speaker import Speaker
from moot.model.chunks import Usage
from moot.model.discussions import Message
from moot.model.errors import UsageError
from moot.model.events import ENDED_BY, Answer, Event, RunStatus, Seat, StageStarted, TurnEnded, TurnStatus
from moot.model.faults import fault
from moot.model.ids import new_id
from moot.model.participants import Participant
from moot.model.plans import Plan
from moot.model.requests import Part
from moot.modes import MODES
from moot.providers.registry import Resolved
from moot.streams.stop import Stop

ChainOf = Callable[[Participant], Awaitable[Sequence[Resolved]]]
Body = Callable[[], Coroutine[None, None, TurnStatus]]
Step = Callable[[str, Body], Awaitable[TurnStatus]]


class Transcript(Protocol):
    """What was said until now, and the place where more is kept."""

    @property
    def said(self) -> Sequence[Message]: ...

    def is_open(self, seat: Seat) -> bool:
        """Tell whether readers have seen something of a turn, and not its end."""
        ...

    async def append(self, events: list[Event]) -> None: ...

    async def keep(self, ended: TurnEnded, message: Message) -> None:
        """Keep a finished turn; it is safe when this returns."""
        ...


class Scene(Struct, frozen=True, kw_only=True):
    """Which run this is, and what everybody at the table shares."""

    run: str
    discussion: str
    plan: Plan
    attached: Mapping[str, tuple[Part, ...]] = {}


class Stopped(Exception):
    """The whole run is to end."""


class LiveTable:
    def __init__(
        self,
        scene: Scene,
        transcript: Transcript,
        chain_of: ChainOf,
        speaker: Speaker,
        stop: Stop,
        step: Step,
    ) -> None:
        self.plan = scene.plan
        self.stops = {who.id: Stop(stop) for who in scene.plan.participants}
        self._scene = scene
        self._transcript = transcript
        self._chain_of = chain_of
        self._speaker = speaker
        self._stop = stop
        self._step = step
        self._turns: list[TurnStatus] = []

    async def play(self) -> RunStatus:
        """Run the mode to its end, or to the stop that comes first."""
        with suppress(Stopped):
            await MODES[self.plan.mode](self)
        return run_status(self._turns, self._stop)

    async def open_stage(self, stage: str, round: int = 0) -> None:
        self._leave_if_stopped()
        await self._transcript.append([StageStarted(stage=stage, round=round)])

    async def speak(
        self,
        who: Participant,
        stage: str = "answer",
        *,
        round: int = 0,
        view: View = everything,
        instruction: str = "",
    ) -> TurnStatus:
        self._leave_if_stopped()
        status = await self._named(Seat(who.id, stage, round), view, instruction)
        self._leave_if_stopped()
        return status

    async def all_speak(
        self,
        stage: str = "answer",
        *,
        round: int = 0,
        view: View = blind,
    ) -> dict[str, TurnStatus]:
        self._leave_if_stopped()
        seats = [Seat(who.id, stage, round) for who in self.plan.speaking]
        turns = await _together([self._named(seat, view, "") for seat in seats])
        self._leave_if_stopped()
        return {seat.participant: status for seat, status in zip(seats, turns, strict=True)}

    def _leave_if_stopped(self) -> None:
        if self._stop.reason is not None:
            raise Stopped

    async def _named(self, seat: Seat, view: View, instruction: str) -> TurnStatus:
        name = f"{seat.stage}/{seat.round}/{seat.participant}"
        status = await self._step(name, lambda: self._turn(seat, view, instruction))
        self._turns.append(status)
        return status

    async def _turn(self, seat: Seat, view: View, instruction: str) -> TurnStatus:
        said = self._transcript.said
        if (done := _kept(said, self._scene.run, seat)) is not None:
            return done.status
        stopped = self.stops[seat.participant].reason
        if stopped is not None and not self._transcript.is_open(seat):
            return ENDED_BY[stopped]  # before its turn: there is nothing to keep or to tell
        upto = max((message.number for message in said), default=0)
        ended = await self._asked(seat, view(said, seat.participant, self._scene.run), instruction)
        message = turn_message(self._scene, ended, view.__name__, upto, instruction)
        await self._transcript.keep(ended, message)
        return ended.status

    async def _asked(self, seat: Seat, seen: Sequence[Message], instruction: str) -> TurnEnded:
        who = self.plan.participant(seat.participant)
        request = prompt(self.plan, who, seen, instruction, self._scene.attached)
        try:
            chain = await self._chain_of(who)
        except UsageError as error:  # no key, say: this lane fails with words, the others go on
            return _refused(seat, who, error)
        return await self._speaker.speak(seat, chain, request, self.stops[who.id], self._transcript.append)


async def _together(turns: Sequence[Coroutine[None, None, TurnStatus]]) -> list[TurnStatus]:
    """Wait for all; where one cannot be kept, the others end too, and the reason is passed on as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(turn) for turn in turns]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]


def run_status(turns: Sequence[TurnStatus], stop: Stop) -> RunStatus:
    """Sum up a run: stopped if it was as a whole, failed if nobody finished."""
    if stop.reason is not None:
        return ENDED_BY[stop.reason]
    if "completed" in turns:
        return "completed"
    return "stopped" if "stopped" in turns else "failed"


def _kept(said: Sequence[Message], run: str, seat: Seat) -> Message | None:
    """Find a turn that was kept before a crash: it is not asked, or paid, again."""
    name = (run, seat.participant, seat.stage, seat.round)
    return next((m for m in reversed(said) if (m.run, m.participant, m.stage, m.round) == name), None)


def _refused(seat: Seat, who: Participant, error: UsageError) -> TurnEnded:
    return TurnEnded(
        participant=seat.participant,
        stage=seat.stage,
        round=seat.round,
        status="failed",
        message=Answer(),
        model=who.model,
        usage=Usage(),
        cost=0.0,
        fault=fault("auth", str(error), retryable=False),
    )


def turn_message(
    scene: Scene, ended: TurnEnded, view: str | None = None, upto: int | None = None, instruction: str = ""
) -> Message:
    """Make the message of a turn that ended; how its prompt was made is not known after a crash."""
    return Message(
        id=new_id("msg"),
        discussion=scene.discussion,
        run=scene.run,
        role="assistant",
        content=ended.message.text,
        thoughts=ended.message.thoughts,
        details=ended.message.details,
        participant=ended.participant,
        name=scene.plan.participant(ended.participant).name,
        stage=ended.stage,
        round=ended.round,
        status=ended.status,
        provider=ended.model.partition("/")[0],
        model=ended.model,
        usage=ended.usage,
        cost=ended.cost,
        latency=ended.latency,
        first_token=ended.first_token,
        fault=ended.fault,
        audience=scene.plan.to,
        view=view,
        upto=upto,
        instruction=instruction or None,
        created_at=time.time(),
    )
