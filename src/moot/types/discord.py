"""Values of the Discord bot: channel bindings, delivery progress, channel memory."""

from msgspec import Struct

from moot.types.modes import ModeName
from moot.types.participants import Participant


class ChannelBinding(Struct, frozen=True, kw_only=True):
    """A channel, by the id that the service gave it, and the discussion that is led in it.

    Until somebody speaks there is no `discussion`, only what it is to be. `trouble` says why nothing is sent there. What
    began before `created_at` is not told.
    """

    id: str
    tenant: str
    guild: str
    discussion: str | None = None
    mode: ModeName
    participants: tuple[Participant, ...]
    rounds: int = 2
    trouble: str | None = None
    created_at: float


class DeliveryProgress(Struct, frozen=True, kw_only=True):
    """How far a run was told in a channel: up to the event `seq`, in `posts`, by their places.

    A post without a message is on its way, or was when the process ended. `message` and `author` are what the run
    answers in the channel and who wrote that; None where it began elsewhere.
    """

    seq: int = 0
    message: str | None = None
    author: str | None = None
    posts: dict[int, str | None] = {}


class MemoryEntry(Struct, frozen=True, kw_only=True):
    """What was said, and by whom; None is a person, whose words say who. `details` are those of whoever remembers."""

    discussion: str
    name: str | None = None
    text: str
    details: str = ""
    said_at: float


class MemorySummary(Struct, frozen=True, kw_only=True):
    """What is left of words that fell out, up to those of the time `upto`; they were said in some `discussions`."""

    words: str
    discussions: tuple[str, ...]
    upto: float
    created_at: float
