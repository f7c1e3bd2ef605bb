"""Values for what the bot posts: planned messages, retractions, request payloads."""

import io
from hashlib import sha256
from typing import Literal
from zlib import crc32

import discord
from msgspec import Struct

from moot.discord.approvals import Question
from moot.discord.format.messages import ASIDE, Kind, unmarked
from moot.types.events import Seat
from moot.types.participants import Participant

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


class Picture(Struct, frozen=True):
    name: str
    data: bytes

    def file(self) -> discord.File:
        """Make what is sent of it; it can be sent once."""
        return discord.File(io.BytesIO(self.data), self.name)


class Letter(Struct, frozen=True, kw_only=True):
    """What is to be sent; `key` is the same whenever the same is sent again, `since` when it can have arrived first."""

    key: str
    text: str
    speaker: Speaker
    picture: Picture | None = None
    question: Question | None = None  # has buttons
    since: float = 0.0

    @property
    def nonce(self) -> str:
        return sha256(self.key.encode()).hexdigest()[:24]

    @property
    def username(self) -> str:
        """Write the speaker's name as Discord lets webhooks have it."""
        return _allowed(self.speaker.name)

    @property
    def under_own_name(self) -> str:
        """Say who speaks, where a webhook cannot."""
        if self.speaker.name == MOOT.name or self.text.startswith(ASIDE):
            return self.text
        return f"**{unmarked(self.speaker.name)}:** {self.text}"

    def files(self) -> list[discord.File]:
        return [self.picture.file()] if self.picture else []


def _allowed(name: str) -> str:
    """Write a name so that it is not called after the service itself, and not too long."""
    for word in ("discord", "clyde"):
        at = name.lower().find(word)
        while at >= 0:
            name = f"{name[: at + 1]}-{name[at + 1 :]}"
            at = name.lower().find(word)
    return name[:80].strip() or MOOT.name
