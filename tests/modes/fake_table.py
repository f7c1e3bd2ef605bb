"""A table that calls no model. It records who speaks and returns the statuses that the test chose."""

from collections.abc import Coroutine, Mapping, Sequence

from moot.modes.table import BuildInstructions, T
from moot.prompts.tasks.task import BuildTask
from moot.prompts.visibility import View, blind, everything
from moot.types.billing import CallPurpose
from moot.types.debate import LaneStatus
from moot.types.discussions import Message, MessageRole
from moot.types.events import ANSWERED_STATUSES, AnalysisResult, NoticeKind, TurnStatus
from moot.types.participants import Participant, make_participants
from moot.types.run_plan import RunPlan


class FakeRunStopped(Exception):
    """Leaves the mode because the run was stopped."""


class FakeTable:
    """`log` has a line for every stage, and one for each turn with the view of its speaker.

    `statuses` are the statuses of a participant's turns, in order; further turns are completed. After
    `stopped_after` turns the run is stopped. `results` are the results of analyses, by name. `unaffordable` names the
    steps that cost too much.
    """

    def __init__(
        self,
        plan: RunPlan,
        statuses: Mapping[str, Sequence[TurnStatus]] | None = None,
        stopped_after: int | None = None,
        results: Mapping[str, Sequence[AnalysisResult]] | None = None,
        unaffordable: Sequence[str] = (),
    ) -> None:
        self.plan = plan
        self.revision = 0
        self.run = "run_1"
        self.messages = [Message(id="msg_0", discussion="", run=self.run, role="user", content="Go on.")]
        self.log: list[str] = []
        self.instructions: set[str] = set()
        self._statuses = {who: list(turns) for who, turns in (statuses or {}).items()}
        self._turns_left = stopped_after
        self._used_names: set[str] = set()
        self._results = {name: list(found) for name, found in (results or {}).items()}
        self._unaffordable = unaffordable

    async def open_stage(self, stage: str, round: int = 0) -> None:
        self._raise_if_stopped()
        self.log.append(f"{stage} {round}")

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
        self._raise_if_stopped()
        status = self._record_turn(participant, f"{stage}/{round}", view)
        self.instructions.add(instruction)
        self.messages.append(_make_message(participant, stage, round, status))
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
        instructed = f", with {build_instructions.__name__}" if build_instructions else ""
        lanes = f", each in a lane that is then {lane_status}" if lane_status else ""
        self.log.append(f"all at once{instructed}{lanes}:")
        speakers = self.plan.responding_participants if participants is None else participants
        return {one.id: self._record_turn(one, f"{stage}/{round}", view) for one in speakers}

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
        self.log.append(f"one, as {role}, with {build_instructions.__name__}:")
        status: TurnStatus = "failed"
        for who in candidates:
            status = self._record_turn(who, f"{stage}/{round}", view)
            if status in ANSWERED_STATUSES:
                break
        return status

    async def run_analysis(
        self, purpose: CallPurpose, participant: Participant, build_task: BuildTask, *, round: int = 0
    ) -> AnalysisResult | None:
        found = self._results.get(purpose)
        self.log.append(f"{participant.id} ({participant.model}) looks for {purpose}" + ("" if found else " in vain"))
        return found.pop(0) if found else None

    async def record_result(self, result: AnalysisResult) -> None:
        self.log.append(f"concluded: {type(result).__name__}")

    async def complete_lanes(self, participants: Sequence[Participant], kind: NoticeKind, message: str) -> None:
        self._raise_if_stopped()
        self.log.append(f"{', '.join(who.id for who in participants)} complete, {kind}: {message}")

    async def send_notice(self, kind: NoticeKind, message: str) -> None:
        self._raise_if_stopped()
        self.log.append(f"{kind}: {message}")

    async def can_afford(
        self,
        label: str,
        participants: Sequence[Participant],
        build_instructions: BuildInstructions | None = None,
        *,
        view: View = everything,
        reserve_for: BuildInstructions | None = None,
    ) -> bool:
        self._raise_if_stopped()
        return label not in self._unaffordable

    async def run_concurrently(self, *coroutines: Coroutine[None, None, T]) -> Sequence[T]:
        self.log.append("at the same time:")
        return [await one for one in coroutines]

    def _record_turn(self, participant: Participant, prefix: str, view: View) -> TurnStatus:
        name = f"{prefix}/{participant.id}"
        assert name not in self._used_names, f"{name} was used before"
        self._used_names.add(name)
        ends = self._statuses.get(participant.id)
        status: TurnStatus = ends.pop(0) if ends else "completed"
        self.log.append(f"{name} sees {view.__name__}" + ("" if status == "completed" else f": {status}"))
        if self._turns_left is not None:
            self._turns_left -= 1
        return status

    def _raise_if_stopped(self) -> None:
        if self._turns_left is not None and self._turns_left <= 0:
            raise FakeRunStopped


def _make_message(who: Participant, stage: str, round: int, status: TurnStatus) -> Message:
    return Message(
        id=f"msg_{stage}_{round}_{who.id}",
        discussion="",
        run="run_1",
        role="assistant",
        content="So it is." if status in ANSWERED_STATUSES else "",
        participant=who.id,
        name=who.name,
        stage=stage,
        round=round,
        status=status,
    )


def plan(mode: str, participant_count: int = 2, **more: object) -> RunPlan:
    return RunPlan(mode=mode, participants=make_participants(("a/one",) * participant_count), **more)  # type: ignore[arg-type]
