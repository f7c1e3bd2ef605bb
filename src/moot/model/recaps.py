"""Recaps: what a discussion came to in a few points, for messages elsewhere that refer to it."""

from msgspec import Struct

COVERS = 0.8  # of the messages that are there now; a recap that covers less is made anew


class Recap(Struct, frozen=True, kw_only=True):
    """`messages` is how many there were when it was made."""

    id: str
    discussion: str
    points: tuple[str, ...]
    messages: int
    model: str
    created_at: float

    def still_covers(self, messages: int) -> bool:
        return not messages or self.messages / messages >= COVERS
