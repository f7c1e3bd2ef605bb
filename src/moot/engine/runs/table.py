"""The table that modes run on: whatever is done at it is a named step, and no step is done twice."""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol, TypeVar, cast

import msgspec

from moot.engine.runs.analysis import Inquiries
from moot.engine.runs.stage import Stage
from moot.engine.tools.session import Workshop
from moot.engine.turns.context import ChainOf, Manner, Scene, Transcript
from moot.engine.turns.model_caller import Speaker
from moot.engine.turns.runner import Turns
from moot.modes import mode_of
from moot.modes.table import Brief
from moot.prompts.tasks.task import Ask
from moot.prompts.visibility import View, blind, everything
from moot.streaming.cancellation import Stop
from moot.types.billing import Purpose, dollars
from moot.types.debate import Lane, LaneStatus
from moot.types.discussions import Message, Role
from moot.types.events import (
    ANSWERED,
    ENDED_BY,
    Finding,
    Notice,
    NoticeKind,
    RunStatus,
    Seat,
    StageStarted,
    TurnStatus,
)
from moot.types.participants import Participant
from moot.types.run_plan import Plan

T = TypeVar("T")
S = TypeVar("S", bound=str)


class Step(Protocol):
    """Does a part of a run once, by its name; what comes of it is text, which is kept."""

    async def __call__(self, name: str, body: Callable[[], Coroutine[None, None, S]]) -> S: ...


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
        workshop: Workshop | None = None,
    ) -> None:
        self.revision = scene.revision
        self.run = scene.run
        self._turns = Turns(scene, transcript, chain_of, speaker, stop, workshop)
        self._inquiries = Inquiries(scene.run, transcript, chain_of, speaker, stop)
        self._transcript = transcript
        self._stop = stop
        self._step = step
        self._stage: Stage | None = None
        self._parts: dict[str, str] | None = None  # of the step in which several things are done at once
        self._gatherings = 0
        self._ended: list[TurnStatus] = []

    @property
    def plan(self) -> Plan:
        return self._turns.plan

    @property
    def said(self) -> Sequence[Message]:
        return self._transcript.said

    @property
    def stops(self) -> dict[str, Stop]:
        return self._turns.stops

    async def play(self) -> RunStatus:
        """Run the mode to its end, or to the stop that comes first."""
        with suppress(Stopped):
            await mode_of(self.plan)(self)
        return run_status(self._ended, self._stop)

    def try_again(self, participant: str, plan: Plan) -> bool:
        """Let a participant that failed speak anew while the others of its stage do; False if they do not."""
        if self._stage is None or not self._stage.may_try_again(participant):
            return False
        self._turns.forget(participant, plan)
        self._stage.try_again(participant)
        return True

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
        brief: Brief | None = None,
        acting: bool = False,
    ) -> TurnStatus:
        seat = Seat(who.id, stage, round)
        manner = Manner(view=view, instruction=instruction, brief=brief, acting=acting)
        status = await self._done(_name(seat), lambda: self._turns.take(seat, manner))
        self._ended.append(status)
        return status

    async def all_speak(
        self,
        stage: str = "answer",
        *,
        round: int = 0,
        view: View = blind,
        who: Sequence[Participant] | None = None,
        brief: Brief | None = None,
        then: LaneStatus | None = None,
    ) -> dict[str, TurnStatus]:
        self._leave_if_stopped()
        seats = [Seat(one.id, stage, round) for one in (self.plan.speaking if who is None else who)]
        self._turns.wait_again()
        # Who is let try again is waited for, however many have answered before.
        rules = self.plan.debate if then is not None and self.revision == 0 else None
        self._stage = current = Stage(
            [seat.participant for seat in seats], rules.quorum if rules else None, self._call_late
        )
        manner = Manner(view=view, brief=brief, then=then)
        with current.within(rules.deadline if rules else None):
            turns = await self._at_once(
                f"{stage}/{round}", [self._lane(current, seat, manner) for seat in seats]
            )
        self._stage = None
        self._ended += turns
        return {seat.participant: status for seat, status in zip(seats, turns, strict=True)}

    async def one_speaks(
        self,
        candidates: Sequence[Participant],
        stage: str,
        *,
        round: int = 0,
        view: View,
        brief: Brief,
        role: Role,
    ) -> TurnStatus:
        self._turns.wait_again()
        manner = Manner(view=view, brief=brief, role=role)
        return await self._part(
            f"{stage}/{round}", partial(self._first_to_speak, candidates, stage, round, manner)
        )

    async def find(self, purpose: Purpose, who: Participant, ask: Ask, *, round: int = 0) -> Finding | None:
        step = f"find/{purpose}/{self.revision}/{who.id}" + (f"/{round}" if round else "")
        basis = await self._part(step, lambda: self._inquiries.make(purpose, who, ask))
        return next((one for one in self._transcript.found if one.basis == basis), None)

    async def conclude(self, finding: Finding) -> None:
        if finding.basis not in {one.basis for one in self._transcript.found}:
            await self._transcript.append([finding])

    async def settle(self, lanes: Sequence[Participant], kind: NoticeKind, words: str) -> None:
        complete = [Lane(participant=who.id, status="complete") for who in lanes]
        await self._told(kind, words, complete)

    async def tell(self, kind: NoticeKind, words: str) -> None:
        await self._told(kind, words, ())

    async def affords(
        self,
        what: str,
        speakers: Sequence[Participant],
        brief: Brief | None = None,
        *,
        view: View = everything,
        keeping: Brief | None = None,
    ) -> bool:
        if self.plan.cap is None:
            return True
        turns = [(who, brief) for who in speakers]
        turns += [(self.plan.lead, keeping)] if keeping is not None else []
        step = f"afford/{what}/{self.revision}"
        return await self._done(step, lambda: self._affords(what, turns, view)) == "yes"

    async def together(self, *doings: Coroutine[None, None, T]) -> list[T]:
        self._gatherings += 1
        return await self._at_once(f"together/{self._gatherings}", doings)

    async def _at_once(self, name: str, doings: Sequence[Coroutine[None, None, T]]) -> list[T]:
        """Do several things at the same time, as one step; what its parts came to is kept with it.

        After a crash they are done again, and what was done of them is found in the transcript; once all of it is
        done, each part comes to what it came to then.
        """
        came: list[T] = []

        async def all_of_it() -> str:
            came.extend(await _together(doings))
            return msgspec.json.encode(self._parts).decode()

        self._parts = {}
        try:
            kept = await self._step(name, all_of_it)
            if len(came) < len(doings):
                self._parts = msgspec.json.decode(kept, type=dict[str, str])
                came = await _together(doings)
        finally:
            self._parts = None
            for doing in doings:
                doing.close()  # one that was never begun
        self._leave_if_stopped()
        return came

    async def _part(self, name: str, body: Callable[[], Coroutine[None, None, S]]) -> S:
        """Do a step, or a part of one in which several are done at the same time."""
        if self._parts is None:
            return await self._step(name, body)
        if name not in self._parts:
            self._parts[name] = await body()
        return cast("S", self._parts[name])

    async def _done(self, name: str, body: Callable[[], Coroutine[None, None, S]]) -> S:
        """Do a step that nothing else is done beside, unless it was done."""
        self._leave_if_stopped()
        status = await self._step(name, body)
        self._leave_if_stopped()
        return status

    def _leave_if_stopped(self) -> None:
        if self._stop.reason is not None:
            raise Stopped

    async def _lane(self, stage: Stage, seat: Seat, manner: Manner) -> TurnStatus:
        status = await self._part(_name(seat), lambda: self._until_it_answers(stage, seat, manner))
        stage.ended(seat.participant, status)  # it may have been done before a crash
        return status

    async def _until_it_answers(self, stage: Stage, seat: Seat, manner: Manner) -> TurnStatus:
        """Take a turn, and again if that is wished while the others still speak."""
        while True:
            status = await self._turns.take(seat, manner)
            stage.ended(seat.participant, status)
            if status in ANSWERED or not await stage.is_to_try_again(seat.participant):
                return status

    def _call_late(self, participants: Collection[str]) -> None:
        for participant in participants:
            self.stops[participant].request("late")

    async def _first_to_speak(
        self, candidates: Sequence[Participant], stage: str, round: int, manner: Manner
    ) -> TurnStatus:
        status: TurnStatus = "failed"
        for who, following in zip(candidates, [*candidates[1:], None], strict=True):
            status = await self._turns.take(Seat(who.id, stage, round), manner)
            if status in ANSWERED or self._stop.reason is not None:
                return status
            words = f"{who.name} could not give the {stage}"
            words = f"{words}: {following.name} does." if following else f"{words}, nor could anybody else."
            kind: NoticeKind = "lead_replaced" if following else "missing"
            await self._transcript.append([Notice(kind=kind, message=words)])
        return status

    async def _told(self, kind: NoticeKind, words: str, lanes: Sequence[Lane]) -> None:
        async def tell() -> str:
            await self._transcript.keep(Notice(kind=kind, message=words), lanes=lanes)
            return "told"

        await self._done(f"tell/{kind}/{self.revision}", tell)

    async def _affords(self, what: str, turns: Sequence[tuple[Participant, Brief | None]], view: View) -> str:
        cap = self.plan.cap or 0.0
        more = sum([await self._turns.likely_cost(who, brief, view) for who, brief in turns])
        left = max(0.0, cap - self._transcript.spent)
        if more <= left:
            return "yes"
        words = f"{what} is left out: it would cost about {dollars(more)}, and of the cap of {dollars(cap)} only {dollars(left)} are left."
        await self._transcript.append([Notice(kind="cap", message=words)])
        return "no"


async def _together(doings: Sequence[Coroutine[None, None, T]]) -> list[T]:
    """Wait for all; where one cannot be kept, the others end too, and the reason is passed on as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in doings]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]


def _name(seat: Seat) -> str:
    return f"{seat.stage}/{seat.round}/{seat.participant}"


def run_status(turns: Sequence[TurnStatus], stop: Stop) -> RunStatus:
    """Sum up a run: stopped if it was as a whole, failed if nobody finished."""
    if stop.reason is not None:
        return ENDED_BY[stop.reason]
    if "completed" in turns:
        return "completed"
    return "stopped" if "stopped" in turns else "failed"
