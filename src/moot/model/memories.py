"""What a participant remembers of a channel, whichever discussion it was said in."""

from msgspec import Struct


class Remembered(Struct, frozen=True, kw_only=True):
    """What was said, and by whom; None is a person, whose words say who. `details` are those of whoever remembers."""

    discussion: str
    name: str | None = None
    words: str
    details: str = ""
    at: float


class Summary(Struct, frozen=True, kw_only=True):
    """What is left of words that fell out, up to those of the time `upto`; they were said in some `discussions`."""

    words: str
    discussions: tuple[str, ...]
    upto: float
    created_at: float
