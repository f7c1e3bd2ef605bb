"""A prompt in pieces: each knows what it is and whose words it holds. Joined, they are what is sent."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Literal

from msgspec import Struct

from moot.prompts.tokens import tokens_of
from moot.types.chunks import Text, Thought, ToolCall
from moot.types.model_info import CHARACTERS_PER_TOKEN
from moot.types.requests import File, Message, Part, ToolResult
from moot.types.tools import ToolUse

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
    "call",
    "result",
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
    """A prompt taken apart; `tokens` are those that its model is likely to count.

    `tools` may be called: they are described to the model beside it, by whoever offers them.
    """

    model: str
    tokens: int
    parts: tuple[Shown, ...]
    tools: tuple[str, ...] = ()


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


def called(said: str, uses: Iterable[ToolUse]) -> Iterator[Piece]:
    """Tell what an answer was asked on with after each of its calls: its own words until then, the call, and the result."""
    told = 0
    for use in uses:
        if words := said[told : use.said].strip():
            yield Piece("assistant", "own", Text(words))
        told = use.said
        yield Piece("assistant", "call", ToolCall(use.call_id, use.name, use.arguments), use.name)
        result = ToolResult(use.call_id, use.name, use.content, use.is_error)
        yield Piece("user", "result", result, use.name)


def shown(
    model: str, pieces: Sequence[Piece], rate: float = CHARACTERS_PER_TOKEN, tools: tuple[str, ...] = ()
) -> PromptParts:
    """Show the pieces of a prompt, and how many tokens each takes at so many characters a token."""
    parts = tuple(_shown(piece, rate) for piece in pieces)
    return PromptParts(model=model, tokens=sum(part.tokens for part in parts), parts=parts, tools=tools)


def _text(part: Part) -> str | None:
    match part:
        case Text(text) | Thought(text) | ToolCall(arguments=text) | ToolResult(content=text):
            return text
        case File():
            return None


def _shown(piece: Piece, rate: float) -> Shown:
    text = _text(piece.part)
    return Shown(
        role=piece.role,
        origin=piece.origin,
        name=piece.name,
        message=piece.message,
        text=text or "",
        tokens=tokens_of([piece.part], rate),
        size=piece.size if text is None else None,
    )
