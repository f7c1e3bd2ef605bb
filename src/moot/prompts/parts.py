"""A prompt in pieces: each knows what it is and whose words it holds. Joined, they are what is sent."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Literal

from msgspec import Struct

from moot.prompts.tokens import estimate_part_tokens
from moot.types.chunks import Text, Thought, ToolCall
from moot.types.model_info import CHARACTERS_PER_TOKEN
from moot.types.requests import File, ModelMessage, Part, ToolResult
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


class Attachment(Struct, frozen=True):
    """What is handed on with a message; `name` is the file's or the other discussion's, `size` is in bytes."""

    part: Part
    origin: Literal["file", "recap"] = "file"
    name: str | None = None
    size: int | None = None


AttachmentsByMessage = Mapping[str, tuple[Attachment, ...]]  # by the message that it came with


class PromptPiece(Struct, frozen=True):
    """`name` is who said it, or what the file is called; `message` is the id of where it was said."""

    role: Literal["system", "user", "assistant"]
    origin: Origin
    part: Part
    name: str | None = None
    message: str | None = None
    size: int | None = None


class PromptPartView(Struct, frozen=True, kw_only=True):
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
    parts: tuple[PromptPartView, ...]
    tools: tuple[str, ...] = ()


def system_text(pieces: Iterable[PromptPiece]) -> str:
    layers = (piece.part for piece in pieces if piece.role == "system")
    return "\n\n".join(part.text for part in layers if isinstance(part, Text))


def group_into_messages(pieces: Iterable[PromptPiece]) -> tuple[ModelMessage, ...]:
    """Put neighbours of one role into one message: providers want roles to alternate."""
    told = (piece for piece in pieces if piece.role != "system")
    return tuple(
        ModelMessage("user" if role == "user" else "assistant", tuple(piece.part for piece in neighbours))
        for role, neighbours in groupby(told, key=lambda piece: piece.role)
    )


def attachment_pieces(attachments: AttachmentsByMessage, message: str) -> list[PromptPiece]:
    return [
        PromptPiece("user", one.origin, one.part, one.name, message, one.size)
        for one in attachments.get(message, ())
    ]


def tool_call_pieces(text: str, tool_uses: Iterable[ToolUse]) -> Iterator[PromptPiece]:
    """Tell what an answer was asked on with after each of its calls: its own words until then, the call, and the result."""
    told = 0
    for use in tool_uses:
        if words := text[told : use.said].strip():
            yield PromptPiece("assistant", "own", Text(words))
        told = use.said
        yield PromptPiece("assistant", "call", ToolCall(use.call_id, use.name, use.arguments), use.name)
        result = ToolResult(use.call_id, use.name, use.content, use.is_error)
        yield PromptPiece("user", "result", result, use.name)


def build_prompt_parts(
    model: str, pieces: Sequence[PromptPiece], rate: float = CHARACTERS_PER_TOKEN, tools: tuple[str, ...] = ()
) -> PromptParts:
    """Show the pieces of a prompt, and how many tokens each takes at so many characters a token."""
    parts = tuple(_part_view(piece, rate) for piece in pieces)
    return PromptParts(model=model, tokens=sum(part.tokens for part in parts), parts=parts, tools=tools)


def _part_text(part: Part) -> str | None:
    match part:
        case Text(text) | Thought(text) | ToolCall(arguments=text) | ToolResult(content=text):
            return text
        case File():
            return None


def _part_view(piece: PromptPiece, rate: float) -> PromptPartView:
    text = _part_text(piece.part)
    return PromptPartView(
        role=piece.role,
        origin=piece.origin,
        name=piece.name,
        message=piece.message,
        text=text or "",
        tokens=estimate_part_tokens([piece.part], rate),
        size=piece.size if text is None else None,
    )
