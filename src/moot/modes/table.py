"""What a mode can do. Stops, failures, storage and replay are the table's business, not the mode's."""

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

# What somebody is told before speaking: of all that was said in this run, for whom, in so many characters.
BuildInstructions = Callable[[Sequence[Message], str, str, int], str]


class Table(Protocol):
    """Turns at a table. A turn is named by its stage, its round and who speaks; no name is used twice in a run.

    A participant that fails is a status, never an exception. When the whole run is stopped, the mode is left. A mode
    is played again from its start where something of the run is tried again; what is done then is not done twice.
    `revision` counts these, for what has to be made anew.
    """

    @property
    def plan(self) -> RunPlan: ...

    @property
    def revision(self) -> int: ...

    @property
    def run(self) -> str: ...

    @property
    def messages(self) -> Sequence[Message]:
        """All that was said until now: after a crash, also what was said in turns that the mode comes to again."""
        ...

    async def open_stage(self, stage: str, round: int = 0) -> None:
        """Tell readers that something new begins."""
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
        """Let somebody speak. With `acting`, the answer is an array of speech and actions."""
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
        """Let everybody who is spoken to, or only some, speak at the same time.

        With `then` each speaks in a lane, a thread of its own, which has come so far when it has answered; the rules
        of the debate say whom the others wait for.
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
        """Let the first of several speak for all, and the next one where that fails."""
        ...

    async def run_analysis(
        self, purpose: CallPurpose, participant: Participant, build_task: BuildTask, *, round: int = 0
    ) -> AnalysisResult | None:
        """Let somebody's model find something out; where it does not, readers are told so and nothing else happens."""
        ...

    async def record_result(self, result: AnalysisResult) -> None:
        """Keep and tell what follows from what was found."""
        ...

    async def complete_lanes(
        self, participants: Sequence[Participant], kind: NoticeKind, message: str
    ) -> None:
        """Tell that lanes are complete without more, and why."""
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
        """Tell whether the run's cap leaves room for a turn of each; if not, readers are told what is left out.

        `view` is what they would see and `brief` what they would be told before. Enough is kept for one to speak after
        being told what `keeping` says: to sum up in the end.
        """
        ...

    async def run_concurrently(self, *coroutines: Coroutine[None, None, T]) -> Sequence[T]:
        """Do several things at the same time: each a single one of those above."""
        ...


def participants_with_answers(plan: RunPlan, statuses: Mapping[str, TurnStatus]) -> list[Participant]:
    """List those who gave an answer, in the order of their seats."""
    return [who for who in plan.responding_participants if statuses.get(who.id) in ANSWERED_STATUSES]
