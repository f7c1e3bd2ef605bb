"""Where turns are taken: which run it is, what was said until now, and in which manner somebody speaks."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from msgspec import Struct

from moot.modes.table import Brief
from moot.prompts.parts import Attached
from moot.prompts.visibility import View, everything
from moot.providers.registry import Resolved
from moot.types.billing import Charge
from moot.types.debate import Lane, LaneStatus
from moot.types.discussions import Message, Role
from moot.types.events import Event, Finding, Seat
from moot.types.participants import Participant
from moot.types.run_plan import Plan

ChainOf = Callable[[Participant], Awaitable[Sequence[Resolved]]]


class Transcript(Protocol):
    """What was said and found until now, and the place where more is kept."""

    @property
    def said(self) -> Sequence[Message]: ...

    @property
    def found(self) -> Sequence[Finding]: ...

    @property
    def spent(self) -> float:
        """What the run has cost until now, whatever came of it, as far as prices are known."""
        ...

    def is_open(self, seat: Seat) -> bool:
        """Tell whether readers have seen something of a turn, and not its end."""
        ...

    async def append(self, events: list[Event]) -> None: ...

    async def keep(
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

    def forget(self, participant: str) -> None:
        """Forget the turns that somebody is to try again."""
        ...


class Scene(Struct, frozen=True, kw_only=True):
    """Which run this is, and what everybody at the table shares."""

    run: str
    discussion: str
    plan: Plan
    revision: int = 0
    attached: Attached = {}


class Manner(Struct, frozen=True, kw_only=True):
    """How somebody speaks: what is seen and told before, and as what the answer is kept.

    With `then` it is in a lane, a thread of one's own, and that is how far the lane has come with an answer. Whoever is
    `acting` answers with an array of speech and actions.
    """

    view: View = everything
    instruction: str = ""
    brief: Brief | None = None
    role: Role = "assistant"
    then: LaneStatus | None = None
    acting: bool = False
