"""Values for what the bot posts: planned messages, retractions, request payloads."""

import io
from hashlib import sha256
from typing import Literal
from zlib import crc32

import discord
from msgspec import Struct

from moot.discord.approvals import ApprovalKey
from moot.discord.format.messages import SMALL_PRINT_PREFIX, PartKind, strip_markdown
from moot.types.events import TurnKey
from moot.types.participants import Participant

DEFAULT_AVATAR_COUNT = 6  # that Discord has for those who have none


class MessageAuthor(Struct, frozen=True):
    """Under which name and with which picture something is posted."""

    name: str
    avatar: str | None = None


MOOT_AUTHOR = MessageAuthor("Moot")


class PlannedMessage(Struct, frozen=True, kw_only=True):
    """A message to send. `kind` board is the whiteboard as it is after the run; `thought` goes to the thought-log.

    With a `call` it asks whether that may be made.
    """

    position: int
    text: str
    author: MessageAuthor
    kind: PartKind | Literal["board"] = "text"
    pause_seconds: float = 0.0
    typing_seconds: float = 0.0
    turn_key: TurnKey | None = None
    is_reasoning: bool = False
    call_id: str | None = None


class Retract(Struct, frozen=True, kw_only=True):
    """What was posted at these places is void: take it back, and send nothing of it that is not sent yet."""

    position: int
    retracted_positions: tuple[int, ...]


class ResolvePrompt(Struct, frozen=True, kw_only=True):
    """The question that was posted at a place is open no more: now this is to stand there."""

    position: int
    prompt_position: int
    text: str


class DropPending(Struct, frozen=True):
    """Something new was said: of a turn, or of the whole run, nothing more is sent."""

    turn_key: TurnKey | None = None


DeliveryStep = PlannedMessage | Retract | ResolvePrompt | DropPending


def participant_author(who: Participant) -> MessageAuthor:
    """Show a participant with its own picture, or with one of Discord's, always the same."""
    if (who.avatar or "").startswith("https://"):
        return MessageAuthor(who.name, who.avatar)
    face = crc32(who.id.encode()) % DEFAULT_AVATAR_COUNT
    return MessageAuthor(who.name, f"https://cdn.discordapp.com/embed/avatars/{face}.png")


class ImageAttachment(Struct, frozen=True):
    name: str
    data: bytes

    def to_discord_file(self) -> discord.File:
        """Make what is sent of it; it can be sent once."""
        return discord.File(io.BytesIO(self.data), self.name)


class MessagePayload(Struct, frozen=True, kw_only=True):
    """What is to be sent; `key` is the same whenever the same is sent again, `since` when it can have arrived first."""

    key: str
    text: str
    author: MessageAuthor
    image: ImageAttachment | None = None
    approval: ApprovalKey | None = None  # has buttons
    earliest_arrival: float = 0.0

    @property
    def nonce(self) -> str:
        return sha256(self.key.encode()).hexdigest()[:24]

    @property
    def username(self) -> str:
        """Write the speaker's name as Discord lets webhooks have it."""
        return _sanitize_username(self.author.name)

    @property
    def text_with_name(self) -> str:
        """Say who speaks, where a webhook cannot."""
        if self.author.name == MOOT_AUTHOR.name or self.text.startswith(SMALL_PRINT_PREFIX):
            return self.text
        return f"**{strip_markdown(self.author.name)}:** {self.text}"

    def discord_files(self) -> list[discord.File]:
        return [self.image.to_discord_file()] if self.image else []


def _sanitize_username(name: str) -> str:
    """Write a name so that it is not called after the service itself, and not too long."""
    for word in ("discord", "clyde"):
        at = name.lower().find(word)
        while at >= 0:
            name = f"{name[: at + 1]}-{name[at + 1 :]}"
            at = name.lower().find(word)
    return name[:80].strip() or MOOT_AUTHOR.name
