"""Values of the Discord bot: channel bindings, delivery progress, channel memory."""

from msgspec import Struct

from moot.types.modes import ModeName
from moot.types.participants import Participant


class ChannelBinding(Struct, frozen=True, kw_only=True):
    """A Discord channel and the discussion that it shows."""

    id: str  # Discord channel id
    tenant: str
    guild: str  # Discord server id
    discussion: str | None = None  # None until the first message creates it
    mode: ModeName  # of the discussion, also before it exists; so are `participants` and `rounds`
    participants: tuple[Participant, ...]
    rounds: int = 2
    error: str | None = None  # error for which the bot stopped sending to this channel
    created_at: float  # runs that started earlier are not delivered


class DeliveryProgress(Struct, frozen=True, kw_only=True):
    """Delivery state of a run in a channel, stored so that delivery resumes after a crash."""

    seq: int = 0  # last delivered event
    message: str | None = None  # id of the Discord message that the run answers; None: started elsewhere
    author: str | None = None  # Discord user id of that message's author
    # Message ids by position; None: request sent, response pending or lost in a crash.
    posts: dict[int, str | None] = {}


class MemoryEntry(Struct, frozen=True, kw_only=True):
    """One message in a participant's memory of a channel."""

    discussion: str
    name: str | None = None  # None: a person; then `text` contains the name
    text: str
    details: str = ""  # `<details>` blocks, for the author's own memory only
    said_at: float


class MemorySummary(Struct, frozen=True, kw_only=True):
    """Summary of messages that no longer fit into a participant's memory."""

    text: str
    discussions: tuple[str, ...]  # source discussion ids
    covers_until: float  # `said_at` of the newest summarized message
    created_at: float
