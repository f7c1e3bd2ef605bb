"""Inputs of a turn: the run, its transcript, and the options of the turn."""

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
    """Messages and results of a run, and the methods that add to them.

    `StoredTranscript` writes to the database, `MemoryTranscript` keeps everything in memory.
    """

    @property
    def messages(self) -> Sequence[Message]: ...

    @property
    def analysis_results(self) -> Sequence[AnalysisResult]: ...

    @property
    def spent_usd(self) -> float:
        """Cost of the run until now, including failed calls; calls without a known price count 0."""
        ...

    def has_open_turn(self, turn_key: TurnKey) -> bool:
        """Whether clients have received events of the turn, but not its end."""
        ...

    async def append_events(self, events: list[Event]) -> None:
        """Queue events without waiting until they are stored."""
        ...

    async def commit_event(
        self,
        event: Event,
        message: Message | None = None,
        *,
        lanes: Sequence[Lane] = (),
        charges: Sequence[Charge] = (),
    ) -> int:
        """Store an event and its records in one transaction; return the message number after the commit."""
        ...

    def discard_failed_turns(self, participant: str) -> None:
        """Remove failed turns of the participant and their instructions from `messages`, before a retry."""
        ...


class RunContext(Struct, frozen=True, kw_only=True):
    run: str
    discussion: str  # empty if the run is not stored
    plan: RunPlan
    revision: int = 0  # raised by each retry
    attachments: AttachmentsByMessage = {}


class TurnOptions(Struct, frozen=True, kw_only=True):
    view: View = everything  # selects the visible messages
    instructions: str = ""  # added to the prompt, not stored as a message
    build_instructions: BuildInstructions | None = None  # builds a hidden message that is stored before the turn
    role: MessageRole = "assistant"  # of the stored answer
    lane_status: LaneStatus | None = None  # if set, the turn runs in a lane, which gets this status with an answer
    with_actions: bool = False  # the answer is a JSON array of speech and actions
