"""Where turns are taken: which run it is, what was said until now, and in which manner somebody speaks."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from msgspec import Struct

from moot.modes.table import BuildInstructions
from moot.prompts.parts import AttachmentsByMessage
from moot.prompts.visibility import View, everything
from moot.providers.registry import ResolvedModel
from moot.types.billing import Charge
from moot.types.debate import Lane, LaneStatus
from moot.types.discussions import Message, MessageRole
from moot.types.events import AnalysisResult, Event, TurnKey
from moot.types.participants import Participant
from moot.types.run_plan import RunPlan

ResolveParticipantModel = Callable[[Participant], Awaitable[Sequence[ResolvedModel]]]


class RunTranscript(Protocol):
    """What was said and found until now, and the place where more is kept."""

    @property
    def messages(self) -> Sequence[Message]: ...

    @property
    def analysis_results(self) -> Sequence[AnalysisResult]: ...

    @property
    def spent_usd(self) -> float:
        """What the run has cost until now, whatever came of it, as far as prices are known."""
        ...

    def has_open_turn(self, turn_key: TurnKey) -> bool:
        """Tell whether readers have seen something of a turn, and not its end."""
        ...

    async def append_events(self, events: list[Event]) -> None: ...

    async def commit_event(
        self,
        event: Event,
        message: Message | None = None,
        *,
        lanes: Sequence[Lane] = (),
        charges: Sequence[Charge] = (),
    ) -> int:
        """Keep an event, what comes of it and what it cost, all or nothing; it is safe when this returns.

        What is returned is the number of the message, if there is one.
        """
        ...

    def discard_failed_turns(self, participant: str) -> None:
        """Forget the turns that somebody is to try again."""
        ...


class RunContext(Struct, frozen=True, kw_only=True):
    """Which run this is, and what everybody at the table shares."""

    run: str
    discussion: str
    plan: RunPlan
    revision: int = 0
    attachments: AttachmentsByMessage = {}


class TurnOptions(Struct, frozen=True, kw_only=True):
    """How somebody speaks: what is seen and told before, and as what the answer is kept.

    With `then` it is in a lane, a thread of one's own, and that is how far the lane has come with an answer. Whoever is
    `acting` answers with an array of speech and actions.
    """

    view: View = everything
    instruction: str = ""
    build_instructions: BuildInstructions | None = None
    role: MessageRole = "assistant"
    lane_status: LaneStatus | None = None
    with_actions: bool = False
