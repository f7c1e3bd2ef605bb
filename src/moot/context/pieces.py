"""A prompt in pieces: each knows what it is and whose words it holds. Joined, they are what is sent."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Literal

from msgspec import Struct

from moot.context.tokens import tokens_of
from moot.model.chunks import Text
from moot.model.measures import CHARACTERS_PER_TOKEN
from moot.model.requests import Message, Part

Origin = Literal[
    "persona",
    "mode",
    "project",
    "language",
    "memory",
    "message",
    "own",
    "reference",
    "recap",
    "file",
    "instruction",
    "filler",
]


class Enclosed(Struct, frozen=True):
    """What is handed on with a message; `name` is the file's or the other discussion's, `size` is in bytes."""

    part: Part
    origin: Literal["file", "recap"] = "file"
    name: str | None = None
    size: int | None = None


Attached = Mapping[str, tuple[Enclosed, ...]]  # by the message that it came with


class Piece(Struct, frozen=True):
    """`name` is who said it, or what the file is called; `message` is the id of where it was said."""

    role: Literal["system", "user", "assistant"]
    origin: Origin
    part: Part
    name: str | None = None
    message: str | None = None
    size: int | None = None


class Shown(Struct, frozen=True, kw_only=True):
    """A piece as people are shown it. A file that is sent as it is has a `size` in bytes, and no text."""

    role: Literal["system", "user", "assistant"]
    origin: Origin
    name: str | None
    message: str | None
    text: str
    tokens: int
    size: int | None = None


class PromptParts(Struct, frozen=True, kw_only=True):
    """A prompt taken apart; `tokens` are those that its model is likely to count."""

    model: str
    tokens: int
    parts: tuple[Shown, ...]


def system_of(pieces: Iterable[Piece]) -> str:
    layers = (piece.part for piece in pieces if piece.role == "system")
    return "\n\n".join(part.text for part in layers if isinstance(part, Text))


def messages_of(pieces: Iterable[Piece]) -> tuple[Message, ...]:
    """Put neighbours of one role into one message: providers want roles to alternate."""
    told = (piece for piece in pieces if piece.role != "system")
    return tuple(
        Message("user" if role == "user" else "assistant", tuple(piece.part for piece in neighbours))
        for role, neighbours in groupby(told, key=lambda piece: piece.role)
    )


def enclosures(attached: Attached, message: str) -> list[Piece]:
    return [
        Piece("user", one.origin, one.part, one.name, message, one.size) for one in attached.get(message, ())
    ]


def shown(model: str, pieces: Sequence[Piece], rate: float = CHARACTERS_PER_TOKEN) -> PromptParts:
    """Show the pieces of a prompt, and how many tokens each takes at so many characters a token."""
    parts = tuple(_shown(piece, rate) for piece in pieces)
    return PromptParts(model=model, tokens=sum(part.tokens for part in parts), parts=parts)


def _shown(piece: Piece, rate: float) -> Shown:
    text = piece.part.text if isinstance(piece.part, Text) else None
    return Shown(
        role=piece.role,
        origin=piece.origin,
        name=piece.name,
        message=piece.message,
        text=text or "",
        tokens=tokens_of([piece.part], rate),
        size=piece.size if text is None else None,
    )
