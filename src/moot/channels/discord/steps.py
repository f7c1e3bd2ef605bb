"""What is done in a channel to tell it of a run, step by step, and under whose name."""

from typing import Literal
from zlib import crc32

from msgspec import Struct

from moot.channels.discord.messages import Kind
from moot.model.events import Seat
from moot.model.participants import Participant

FACES = 6  # that Discord has for those who have none


class Speaker(Struct, frozen=True):
    """Under which name and with which picture something is posted."""

    name: str
    avatar: str | None = None


MOOT = Speaker("Moot")


class Post(Struct, frozen=True, kw_only=True):
    """A message to send. `kind` board is the whiteboard as it is after the run; `thought` goes to the thought-log.

    With a `call` it asks whether that may be made.
    """

    place: int
    text: str
    speaker: Speaker
    kind: Kind | Literal["board"] = "text"
    pause: float = 0.0
    typing: float = 0.0
    seat: Seat | None = None
    thought: bool = False
    call: str | None = None


class Unsay(Struct, frozen=True, kw_only=True):
    """What was posted at these places is void: take it back, and send nothing of it that is not sent yet."""

    place: int
    places: tuple[int, ...]


class Settle(Struct, frozen=True, kw_only=True):
    """The question that was posted at a place is open no more: now this is to stand there."""

    place: int
    question: int
    text: str


class Drop(Struct, frozen=True):
    """Something new was said: of a turn, or of the whole run, nothing more is sent."""

    seat: Seat | None = None


Step = Post | Unsay | Settle | Drop


def speaker_of(who: Participant) -> Speaker:
    """Show a participant with its own picture, or with one of Discord's, always the same."""
    if (who.avatar or "").startswith("https://"):
        return Speaker(who.name, who.avatar)
    face = crc32(who.id.encode()) % FACES
    return Speaker(who.name, f"https://cdn.discordapp.com/embed/avatars/{face}.png")
