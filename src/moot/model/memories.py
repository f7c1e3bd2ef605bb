"""What a participant remembers of a channel, whichever discussion it was said in."""

from msgspec import Struct


class Remembered(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was said, and by whom; None is a person, whose words say who. `details` are what only the speaker noted."""

    message: str
    discussion: str
    name: str | None = None
    words: str
    details: str = ""
    at: float


class Summary(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is left of words that fell out, up to those of the time `upto`; they were said in some `discussions`."""

    words: str
    discussions: tuple[str, ...]
    upto: float
    at: float


class Memory(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The newest of what was said, oldest first, and what is left of the rest."""

    recent: tuple[Remembered, ...] = ()
    summary: Summary | None = None
