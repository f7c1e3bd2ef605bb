"""The table that modes run on: whatever is done at it is a named step, and no step is done twice."""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol, TypeVar, cast

import msgspec

from moot.engine.runs.analysis import AnalysisRunner
from moot.engine.runs.stage import QuorumBarrier
from moot.engine.tools.session import ToolSession
from moot.engine.turns.context import ResolveParticipantModel, RunContext, RunTranscript, TurnOptions
from moot.engine.turns.model_caller import ModelCaller
from moot.engine.turns.runner import TurnRunner
from moot.modes import mode_for_plan
from moot.modes.table import BuildInstructions
from moot.prompts.tasks.task import BuildTask
from moot.prompts.visibility import View, blind, everything
from moot.streaming.cancellation import StopSignal
from moot.types.billing import CallPurpose, format_usd
from moot.types.debate import Lane, LaneStatus
from moot.types.discussions import Message, MessageRole
from moot.types.events import (
    ANSWERED_STATUSES,
    STATUS_BY_STOP_REASON,
    AnalysisResult,
    Notice,
    NoticeKind,
    RunStatus,
    StageStarted,
    TurnKey,
    TurnStatus,
)
from moot.types.participants import Participant
from moot.types.run_plan import RunPlan

T = TypeVar("T")
S = TypeVar("S", bound=str)


class DurableStep(Protocol):
    """Does a part of a run once, by its name; what comes of it is text, which is kept."""

    async def __call__(self, name: str, body: Callable[[], Coroutine[None, None, S]]) -> S: ...


class RunStopped(Exception):
    """The whole run is to end."""


class RunTable:
    def __init__(
        self,
        run_context: RunContext,
        transcript: RunTranscript,
        resolve_model: ResolveParticipantModel,
        model_caller: ModelCaller,
        stop: StopSignal,
        durable_step: DurableStep,
        tool_session: ToolSession | None = None,
    ) -> None:
        self.revision = run_context.revision
        self.run = run_context.run
        self._turn_runner = TurnRunner(
            run_context, transcript, resolve_model, model_caller, stop, tool_session
        )
        self._analysis_runner = AnalysisRunner(run_context.run, transcript, resolve_model, model_caller, stop)
        self._transcript = transcript
        self._stop = stop
        self._durable_step = durable_step
        self._barrier: QuorumBarrier | None = None
        self._substep_results: dict[str, str] | None = (
            None  # of the step in which several things are done at once
        )
        self._concurrent_steps = 0
        self._turn_statuses: list[TurnStatus] = []

    @property
    def plan(self) -> RunPlan:
        return self._turn_runner.plan

    @property
    def messages(self) -> Sequence[Message]:
        return self._transcript.messages

    @property
    def stop_signals(self) -> dict[str, StopSignal]:
        return self._turn_runner.stop_signals

    async def run_mode(self) -> RunStatus:
        """Run the mode to its end, or to the stop that comes first."""
        with suppress(RunStopped):
            await mode_for_plan(self.plan)(self)
        return run_status(self._turn_statuses, self._stop)

    def retry_participant(self, participant: str, plan: RunPlan) -> bool:
        """Let a participant that failed speak anew while the others of its stage do; False if they do not."""
        if self._barrier is None or not self._barrier.can_retry(participant):
            return False
        self._turn_runner.reset_participant(participant, plan)
        self._barrier.retry_participant(participant)
        return True

    async def open_stage(self, stage: str, round: int = 0) -> None:
        self._raise_if_stopped()
        await self._transcript.append_events([StageStarted(stage=stage, round=round)])

    async def speak(
        self,
        participant: Participant,
        stage: str = "answer",
        *,
        round: int = 0,
        view: View = everything,
        instruction: str = "",
        build_instructions: BuildInstructions | None = None,
        with_actions: bool = False,
    ) -> TurnStatus:
        seat = TurnKey(participant.id, stage, round)
        manner = TurnOptions(
            view=view,
            instruction=instruction,
            build_instructions=build_instructions,
            with_actions=with_actions,
        )
        status = await self._run_step(_step_name(seat), lambda: self._turn_runner.run(seat, manner))
        self._turn_statuses.append(status)
        return status

    async def all_speak(
        self,
        stage: str = "answer",
        *,
        round: int = 0,
        view: View = blind,
        participants: Sequence[Participant] | None = None,
        build_instructions: BuildInstructions | None = None,
        lane_status: LaneStatus | None = None,
    ) -> dict[str, TurnStatus]:
        self._raise_if_stopped()
        seats = [
            TurnKey(one.id, stage, round)
            for one in (self.plan.responding_participants if participants is None else participants)
        ]
        self._turn_runner.reset_late_participants()
        # Who is let try again is waited for, however many have answered before.
        rules = self.plan.debate if lane_status is not None and self.revision == 0 else None
        self._barrier = current = QuorumBarrier(
            [seat.participant for seat in seats],
            rules.quorum if rules else None,
            self._stop_late_participants,
        )
        manner = TurnOptions(view=view, build_instructions=build_instructions, lane_status=lane_status)
        with current.with_deadline(rules.deadline if rules else None):
            turns = await self._run_concurrently(
                f"{stage}/{round}", [self._run_lane(current, seat, manner) for seat in seats]
            )
        self._barrier = None
        self._turn_statuses += turns
        return {seat.participant: status for seat, status in zip(seats, turns, strict=True)}

    async def one_speaks(
        self,
        candidates: Sequence[Participant],
        stage: str,
        *,
        round: int = 0,
        view: View,
        build_instructions: BuildInstructions,
        role: MessageRole,
    ) -> TurnStatus:
        self._turn_runner.reset_late_participants()
        manner = TurnOptions(view=view, build_instructions=build_instructions, role=role)
        return await self._run_substep(
            f"{stage}/{round}", partial(self._run_first_available, candidates, stage, round, manner)
        )

    async def run_analysis(
        self, purpose: CallPurpose, participant: Participant, build_task: BuildTask, *, round: int = 0
    ) -> AnalysisResult | None:
        step = f"find/{purpose}/{self.revision}/{participant.id}" + (f"/{round}" if round else "")
        basis = await self._run_substep(
            step, lambda: self._analysis_runner.run_analysis(purpose, participant, build_task)
        )
        return next((one for one in self._transcript.analysis_results if one.basis == basis), None)

    async def record_result(self, result: AnalysisResult) -> None:
        if result.basis not in {one.basis for one in self._transcript.analysis_results}:
            await self._transcript.append_events([result])

    async def complete_lanes(
        self, participants: Sequence[Participant], kind: NoticeKind, message: str
    ) -> None:
        complete = [Lane(participant=who.id, status="complete") for who in participants]
        await self._commit_notice(kind, message, complete)

    async def send_notice(self, kind: NoticeKind, message: str) -> None:
        await self._commit_notice(kind, message, ())

    async def can_afford(
        self,
        label: str,
        participants: Sequence[Participant],
        build_instructions: BuildInstructions | None = None,
        *,
        view: View = everything,
        reserve_for: BuildInstructions | None = None,
    ) -> bool:
        if self.plan.cap is None:
            return True
        turns = [(who, build_instructions) for who in participants]
        turns += [(self.plan.lead, reserve_for)] if reserve_for is not None else []
        step = f"afford/{label}/{self.revision}"
        return await self._run_step(step, lambda: self._check_max_cost(label, turns, view)) == "yes"

    async def run_concurrently(self, *coroutines: Coroutine[None, None, T]) -> list[T]:
        self._concurrent_steps += 1
        return await self._run_concurrently(f"together/{self._concurrent_steps}", coroutines)

    async def _run_concurrently(self, name: str, coroutines: Sequence[Coroutine[None, None, T]]) -> list[T]:
        """Do several things at the same time, as one step; what its parts came to is kept with it.

        After a crash they are done again, and what was done of them is found in the transcript; once all of it is
        done, each part comes to what it came to then.
        """
        came: list[T] = []

        async def run_all() -> str:
            came.extend(await _gather_all(coroutines))
            return msgspec.json.encode(self._substep_results).decode()

        self._substep_results = {}
        try:
            kept = await self._durable_step(name, run_all)
            if len(came) < len(coroutines):
                self._substep_results = msgspec.json.decode(kept, type=dict[str, str])
                came = await _gather_all(coroutines)
        finally:
            self._substep_results = None
            for doing in coroutines:
                doing.close()  # one that was never begun
        self._raise_if_stopped()
        return came

    async def _run_substep(self, name: str, body: Callable[[], Coroutine[None, None, S]]) -> S:
        """Do a step, or a part of one in which several are done at the same time."""
        if self._substep_results is None:
            return await self._durable_step(name, body)
        if name not in self._substep_results:
            self._substep_results[name] = await body()
        return cast("S", self._substep_results[name])

    async def _run_step(self, name: str, body: Callable[[], Coroutine[None, None, S]]) -> S:
        """Do a step that nothing else is done beside, unless it was done."""
        self._raise_if_stopped()
        status = await self._durable_step(name, body)
        self._raise_if_stopped()
        return status

    def _raise_if_stopped(self) -> None:
        if self._stop.reason is not None:
            raise RunStopped

    async def _run_lane(self, barrier: QuorumBarrier, turn_key: TurnKey, options: TurnOptions) -> TurnStatus:
        status = await self._run_substep(
            _step_name(turn_key), lambda: self._run_until_answered(barrier, turn_key, options)
        )
        barrier.record_turn_end(turn_key.participant, status)  # it may have been done before a crash
        return status

    async def _run_until_answered(
        self, barrier: QuorumBarrier, turn_key: TurnKey, options: TurnOptions
    ) -> TurnStatus:
        """Take a turn, and again if that is wished while the others still speak."""
        while True:
            status = await self._turn_runner.run(turn_key, options)
            barrier.record_turn_end(turn_key.participant, status)
            if status in ANSWERED_STATUSES or not await barrier.wait_for_retry(turn_key.participant):
                return status

    def _stop_late_participants(self, participants: Collection[str]) -> None:
        for participant in participants:
            self.stop_signals[participant].request_stop("late")

    async def _run_first_available(
        self, candidates: Sequence[Participant], stage: str, round: int, options: TurnOptions
    ) -> TurnStatus:
        status: TurnStatus = "failed"
        for who, following in zip(candidates, [*candidates[1:], None], strict=True):
            status = await self._turn_runner.run(TurnKey(who.id, stage, round), options)
            if status in ANSWERED_STATUSES or self._stop.reason is not None:
                return status
            words = f"{who.name} could not give the {stage}"
            words = f"{words}: {following.name} does." if following else f"{words}, nor could anybody else."
            kind: NoticeKind = "lead_replaced" if following else "missing"
            await self._transcript.append_events([Notice(kind=kind, message=words)])
        return status

    async def _commit_notice(self, kind: NoticeKind, words: str, lanes: Sequence[Lane]) -> None:
        async def commit_step() -> str:
            await self._transcript.commit_event(Notice(kind=kind, message=words), lanes=lanes)
            return "told"

        await self._run_step(f"tell/{kind}/{self.revision}", commit_step)

    async def _check_max_cost(
        self, label: str, turns: Sequence[tuple[Participant, BuildInstructions | None]], view: View
    ) -> str:
        cap = self.plan.cap or 0.0
        more = sum([await self._turn_runner.estimate_turn_cost(who, brief, view) for who, brief in turns])
        left = max(0.0, cap - self._transcript.spent_usd)
        if more <= left:
            return "yes"
        words = f"{label} is left out: it would cost about {format_usd(more)}, and of the cap of {format_usd(cap)} only {format_usd(left)} are left."
        await self._transcript.append_events([Notice(kind="cap", message=words)])
        return "no"


async def _gather_all(coroutines: Sequence[Coroutine[None, None, T]]) -> list[T]:
    """Wait for all; where one cannot be kept, the others end too, and the reason is passed on as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in coroutines]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]


def _step_name(turn_key: TurnKey) -> str:
    return f"{turn_key.stage}/{turn_key.round}/{turn_key.participant}"


def run_status(turns: Sequence[TurnStatus], stop: StopSignal) -> RunStatus:
    """Sum up a run: stopped if it was as a whole, failed if nobody finished."""
    if stop.reason is not None:
        return STATUS_BY_STOP_REASON[stop.reason]
    if "completed" in turns:
        return "completed"
    return "stopped" if "stopped" in turns else "failed"
