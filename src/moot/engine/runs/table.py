"""The `Table` of a run: executes turns, analyses and notices as durable steps.

Each step has a unique name, and a replay after a crash returns its stored result. So a step runs at most once.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Protocol, TypeVar, cast

import msgspec

from moot.engine.runs.analysis import run_analysis
from moot.engine.turns.runner import RunContext, TurnOptions, TurnRunner
from moot.modes import program_for_plan
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

# DBOS stores the names of steps. These keep their first words, so that a run started before an update recovers.
STORED_STEP_WORDS: Mapping[CallPurpose, str] = {"agreement": "gate", "claims": "ledger"}
T = TypeVar("T")
S = TypeVar("S", bound=str)


class DurableStep(Protocol):
    """Runs a step once per name and stores its result, a string."""

    async def __call__(self, name: str, body: Callable[[], Coroutine[None, None, S]]) -> S: ...


class RunStopped(Exception):
    """Unwinds the mode after a stop request."""


class QuorumBarrier:
    """Barrier of a stage with concurrent turns: quorum, deadline, and retries while other turns run.

    `on_late` is called with the unfinished participants at the quorum or the deadline. None waits for all.
    """

    def __init__(
        self, participants: Collection[str], quorum: int | None, on_late: Callable[[Collection[str]], None]
    ) -> None:
        self._unfinished = set(participants)
        self._answered: set[str] = set()
        self._quorum = quorum
        self._on_late = on_late
        self._retry_waiters: dict[str, asyncio.Future[bool]] = {}  # failed participants that can be retried

    @contextmanager
    def with_deadline(self, seconds: float | None) -> Iterator[None]:
        if seconds is None:
            yield
            return
        timer = asyncio.get_running_loop().call_later(seconds, lambda: self._on_late(frozenset(self._unfinished)))
        try:
            yield
        finally:
            timer.cancel()

    def record_turn_end(self, participant: str, status: TurnStatus) -> None:
        """Idempotent. After the last turn, no failed participant can be retried in this stage."""
        self._unfinished.discard(participant)
        if status in ANSWERED_STATUSES:
            self._answered.add(participant)
        if not self._unfinished:
            for waiting in self._retry_waiters.values():
                if not waiting.done():  # a cancelled future is done
                    waiting.set_result(False)
            self._retry_waiters.clear()
        elif self._quorum is not None and len(self._answered) >= self._quorum:
            self._on_late(frozenset(self._unfinished))

    async def wait_for_retry(self, participant: str) -> bool:
        """Wait for a retry command while other turns run; return False when the last one ends."""
        if not self._unfinished:
            return False
        waiting: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._retry_waiters[participant] = waiting
        try:
            return await waiting
        finally:
            self._retry_waiters.pop(participant, None)

    def can_retry(self, participant: str) -> bool:
        return participant in self._retry_waiters

    def retry_participant(self, participant: str) -> None:
        """Resume a participant for which `can_retry` is true."""
        self._unfinished.add(participant)
        self._retry_waiters.pop(participant).set_result(True)


class RunTable:
    def __init__(self, context: RunContext, durable_step: DurableStep) -> None:
        self.revision = context.revision
        self.run = context.run
        self._context = context
        self._turn_runner = TurnRunner(context)
        self._transcript = context.transcript
        self._stop = context.stop
        self._durable_step = durable_step
        self._barrier: QuorumBarrier | None = None
        self._substep_results: dict[str, str] | None = None  # by name, while a concurrent step runs
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
        with suppress(RunStopped):
            await program_for_plan(self.plan)(self)
        return run_status(self._turn_statuses, self._stop)

    def retry_participant(self, participant: str, plan: RunPlan) -> bool:
        """Retry a failed participant while its stage runs; return False if the stage is over or it did not fail."""
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
        turn_key = TurnKey(participant.id, stage, round)
        options = TurnOptions(
            view=view, instructions=instruction, build_instructions=build_instructions, with_actions=with_actions
        )
        status = await self._run_step(_step_name(turn_key), lambda: self._turn_runner.run(turn_key, options))
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
        speaking = self.plan.responding_participants if participants is None else participants
        self._turn_runner.reset_late_participants()
        # A retry has no quorum or deadline: the user wants the answer of this participant.
        rules = self.plan.debate if lane_status is not None and self.revision == 0 else None
        quorum, deadline = (rules.quorum, rules.deadline) if rules else (None, None)
        self._barrier = current = QuorumBarrier([one.id for one in speaking], quorum, self._stop_late_participants)
        options = TurnOptions(view=view, build_instructions=build_instructions, lane_status=lane_status)
        lanes = [self._run_lane(current, TurnKey(one.id, stage, round), options) for one in speaking]
        with current.with_deadline(deadline):
            turns = await self._run_concurrently(f"{stage}/{round}", lanes)
        self._barrier = None
        self._turn_statuses += turns
        return {one.id: status for one, status in zip(speaking, turns, strict=True)}

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
        options = TurnOptions(view=view, build_instructions=build_instructions, role=role)
        return await self._run_substep(
            f"{stage}/{round}", partial(self._run_first_available, candidates, stage, round, options)
        )

    async def run_analysis(
        self, purpose: CallPurpose, participant: Participant, build_task: BuildTask, *, round: int = 0
    ) -> AnalysisResult | None:
        step = f"find/{STORED_STEP_WORDS.get(purpose, purpose)}/{self.revision}/{participant.id}"
        step += f"/{round}" if round else ""
        cache_key = await self._run_substep(
            step, partial(run_analysis, self._context, purpose, participant, build_task)
        )
        return next((one for one in self._transcript.analysis_results if one.cache_key == cache_key), None)

    async def record_result(self, result: AnalysisResult) -> None:
        if result.cache_key not in {one.cache_key for one in self._transcript.analysis_results}:
            await self._transcript.append_events([result])

    async def complete_lanes(self, participants: Sequence[Participant], kind: NoticeKind, message: str) -> None:
        lanes = [Lane(participant=participant.id, status="complete") for participant in participants]
        await self.send_notice(kind, message, lanes)

    async def send_notice(self, kind: NoticeKind, message: str, lanes: Sequence[Lane] = ()) -> None:
        async def commit_step() -> str:
            await self._transcript.commit_event(Notice(kind=kind, message=message), lanes=lanes)
            return "told"  # stored by DBOS

        await self._run_step(f"tell/{kind}/{self.revision}", commit_step)

    async def can_afford(
        self,
        label: str,
        participants: Sequence[Participant],
        build_instructions: BuildInstructions | None = None,
        *,
        view: View = everything,
        reserve_for: BuildInstructions | None = None,
    ) -> bool:
        if self.plan.max_cost_usd is None:
            return True
        turns = [(participant, build_instructions) for participant in participants]
        turns += [(self.plan.lead, reserve_for)] if reserve_for is not None else []
        step = f"afford/{label}/{self.revision}"
        return await self._run_step(step, lambda: self._check_max_cost(label, turns, view)) == "yes"

    async def run_concurrently(self, *coroutines: Coroutine[None, None, T]) -> list[T]:
        self._concurrent_steps += 1
        return await self._run_concurrently(f"together/{self._concurrent_steps}", coroutines)

    async def _run_concurrently(self, name: str, coroutines: Sequence[Coroutine[None, None, T]]) -> list[T]:
        """Run coroutines concurrently as one step, which stores the results of its substeps by name.

        DBOS numbers steps in call order, which concurrency would make random. After a crash within the step, all
        substeps run again, and finished turns are found in the transcript.
        """
        results: list[T] = []

        async def run_all() -> str:
            results.extend(await _gather_all(coroutines))
            return msgspec.json.encode(self._substep_results).decode()

        self._substep_results = {}
        try:
            stored = await self._durable_step(name, run_all)
            if len(results) < len(coroutines):  # replayed: `run_all` was not called
                self._substep_results = msgspec.json.decode(stored, type=dict[str, str])
                results = await _gather_all(coroutines)
        finally:
            self._substep_results = None
            for coroutine in coroutines:
                coroutine.close()  # avoids a warning for one that was never awaited
        self._raise_if_stopped()
        return results

    async def _run_substep(self, name: str, body: Callable[[], Coroutine[None, None, S]]) -> S:
        """Run a step of its own, or a substep if a concurrent step is running."""
        if self._substep_results is None:
            return await self._durable_step(name, body)
        if name not in self._substep_results:
            self._substep_results[name] = await body()
        return cast("S", self._substep_results[name])

    async def _run_step(self, name: str, body: Callable[[], Coroutine[None, None, S]]) -> S:
        """Run a step outside a concurrent one. Raises RunStopped if a stop was requested before or during it."""
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
        barrier.record_turn_end(turn_key.participant, status)  # again, because a replayed step skips the body
        return status

    async def _run_until_answered(self, barrier: QuorumBarrier, turn_key: TurnKey, options: TurnOptions) -> TurnStatus:
        """Run a turn, and retry it on command while other turns of the stage run."""
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
        for participant, following in zip(candidates, [*candidates[1:], None], strict=True):
            status = await self._turn_runner.run(TurnKey(participant.id, stage, round), options)
            if status in ANSWERED_STATUSES or self._stop.reason is not None:
                return status
            text = f"{participant.name} could not give the {stage}"
            text = f"{text}. {following.name} does." if following else f"{text}, and no participant is left."
            kind: NoticeKind = "lead_replaced" if following else "missing"
            await self._transcript.append_events([Notice(kind=kind, message=text)])
        return status

    async def _check_max_cost(
        self, label: str, turns: Sequence[tuple[Participant, BuildInstructions | None]], view: View
    ) -> str:
        max_cost = self.plan.max_cost_usd or 0.0
        costs = [
            await self._turn_runner.estimate_turn_cost(participant, instructions, view)
            for participant, instructions in turns
        ]
        estimate, left = sum(costs), max(0.0, max_cost - self._transcript.spent_usd)
        if estimate <= left:
            return "yes"
        text = f"{label} is skipped. It would cost about {format_usd(estimate)}; {format_usd(left)} of the spending limit of {format_usd(max_cost)} are left."
        await self._transcript.append_events([Notice(kind="max_cost", message=text)])
        return "no"


async def _gather_all(coroutines: Sequence[Coroutine[None, None, T]]) -> list[T]:
    """Return all results. The first exception cancels the other tasks, and is raised without its group."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in coroutines]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]


def _step_name(turn_key: TurnKey) -> str:
    return f"{turn_key.stage}/{turn_key.round}/{turn_key.participant}"


def run_status(turns: Sequence[TurnStatus], stop: StopSignal) -> RunStatus:
    """Stopped if the whole run was, failed if no turn completed or was stopped."""
    if stop.reason is not None:
        return STATUS_BY_STOP_REASON[stop.reason]
    if "completed" in turns:
        return "completed"
    return "stopped" if "stopped" in turns else "failed"
