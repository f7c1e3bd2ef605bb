"""The `Table` protocol: the API for modes. Implementations handle cancellation, errors, storage and replay."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Protocol, TypeVar

from moot.prompts.tasks.task import BuildTask
from moot.prompts.visibility import View, blind, everything
from moot.types.billing import CallPurpose
from moot.types.debate import LaneStatus
from moot.types.discussions import Message, MessageRole
from moot.types.events import ANSWERED_STATUSES, AnalysisResult, NoticeKind, TurnStatus
from moot.types.participants import Participant
from moot.types.run_plan import RunPlan

T = TypeVar("T")

# Arguments: messages of the run, run id, participant id, maximum length in characters. Returns the instructions.
BuildInstructions = Callable[[Sequence[Message], str, str, int], str]


class Table(Protocol):
    """Operations of a mode.

    A turn's key is stage, round and participant; a mode must not use a key twice. A failed participant is a status,
    never an exception. Cancelling the run raises an exception through the mode; do not catch it.

    After a retry or a crash the mode function runs again from its start. Finished steps then return their stored
    value, so a mode must be deterministic.
    """

    @property
    def plan(self) -> RunPlan: ...

    @property
    def revision(self) -> int:
        """Number of retries of the run. Part of the key of steps that a retry must repeat, such as the synthesis."""
        ...

    @property
    def run(self) -> str: ...

    @property
    def messages(self) -> Sequence[Message]:
        """Messages so far. After a crash also messages of turns that the replay has not reached yet."""
        ...

    async def open_stage(self, stage: str, round: int = 0) -> None:
        """Publish a `StageStarted` event."""
        ...

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
        """Run one turn. `with_actions`: the response is a JSON array of text and action objects."""
        ...

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
        """Run one turn per participant concurrently; returns a status by participant id.

        `participants` None: all that respond in this run. `lane_status`: each turn has its own lane, which gets this
        status after an answer; then the quorum and deadline of the debate options apply.
        """
        ...

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
        """Run a turn of the first candidate; on failure fall back to the next one."""
        ...

    async def run_analysis(
        self, purpose: CallPurpose, participant: Participant, build_task: BuildTask, *, round: int = 0
    ) -> AnalysisResult | None:
        """Run an analysis task with the participant's model. Returns None and sends a notice on failure."""
        ...

    async def record_result(self, result: AnalysisResult) -> None:
        """Publish a result that needs no model request. Idempotent by cache key."""
        ...

    async def complete_lanes(self, participants: Sequence[Participant], kind: NoticeKind, message: str) -> None:
        """Set lanes to `complete` without another turn, and send a notice with the reason."""
        ...

    async def send_notice(self, kind: NoticeKind, message: str) -> None: ...

    async def can_afford(
        self,
        label: str,
        participants: Sequence[Participant],
        build_instructions: BuildInstructions | None = None,
        *,
        view: View = everything,
        reserve_for: BuildInstructions | None = None,
    ) -> bool:
        """Check the estimated cost of one turn per participant against the run's limit; send a notice if too high.

        `view` and `build_instructions` are those of the planned turns. `reserve_for` adds the cost of a final turn of
        the lead with these instructions, for example the synthesis. `label` is part of the notice and of the step key.
        """
        ...

    async def run_concurrently(self, *coroutines: Coroutine[None, None, T]) -> Sequence[T]:
        """Run coroutines as one step. Each must be a single method call of this protocol, so that replay works."""
        ...


def participants_with_answers(plan: RunPlan, statuses: Mapping[str, TurnStatus]) -> list[Participant]:
    """Return participants with a usable answer, in the order of the plan."""
    return [who for who in plan.responding_participants if statuses.get(who.id) in ANSWERED_STATUSES]
