"""What is sent to a channel: its words, its picture, its buttons, and in whose name."""

import io
from hashlib import sha256

import discord
from msgspec import Struct

from moot.channels.discord.messages import ASIDE, unmarked
from moot.channels.discord.questions import Question
from moot.channels.discord.steps import MOOT, Speaker


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
