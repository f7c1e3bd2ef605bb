"""Prompt pieces: message parts with their origin, and the prompt view for users.

The pieces in order form the request. The view shows the same pieces with token counts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Literal

from msgspec import Struct

from moot.prompts.tokens import estimate_part_tokens, part_text
from moot.types.chunks import Text, ToolCall
from moot.types.model_info import CHARACTERS_PER_TOKEN
from moot.types.requests import ModelMessage, Part, ToolResult
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
    "reference_summary",
    "file",
    "instructions",
    "filler",
    "call",
    "result",
]


class Attachment(Struct, frozen=True):
    """A file, or the summary of another discussion, that a message refers to."""

    part: Part
    origin: Literal["file", "reference_summary"] = "file"
    name: str | None = None  # file name or discussion title
    size: int | None = None  # bytes


AttachmentsByMessage = Mapping[str, tuple[Attachment, ...]]  # key: message id


class PromptPiece(Struct, frozen=True):
    role: Literal["system", "user", "assistant"]
    origin: Origin
    part: Part
    name: str | None = None  # author, file name or tool name
    message: str | None = None  # id of the source message
    size: int | None = None  # bytes of a file


class PromptPartView(Struct, frozen=True, kw_only=True):
    """One piece of a prompt, in an API response. A binary file has a `size` in bytes and an empty `text`."""

    role: Literal["system", "user", "assistant"]
    origin: Origin
    name: str | None
    message: str | None
    text: str
    tokens: int  # estimate
    size: int | None = None


class PromptParts(Struct, frozen=True, kw_only=True):
    """A prompt as an API response. `tokens` is an estimate, without the schemas of `tools`."""

    model: str
    tokens: int
    parts: tuple[PromptPartView, ...]
    tools: tuple[str, ...] = ()  # names; the request has their schemas in a separate field


def system_text(pieces: Iterable[PromptPiece]) -> str:
    layers = (piece.part for piece in pieces if piece.role == "system")
    return "\n\n".join(part.text for part in layers if isinstance(part, Text))


def group_into_messages(pieces: Iterable[PromptPiece]) -> tuple[ModelMessage, ...]:
    """Merge adjacent pieces of the same role, because providers require alternating roles."""
    spoken = (piece for piece in pieces if piece.role != "system")
    return tuple(
        ModelMessage("user" if role == "user" else "assistant", tuple(piece.part for piece in neighbours))
        for role, neighbours in groupby(spoken, key=lambda piece: piece.role)
    )


def attachment_pieces(attachments: AttachmentsByMessage, message: str) -> list[PromptPiece]:
    return [
        PromptPiece("user", one.origin, one.part, one.name, message, one.size) for one in attachments.get(message, ())
    ]


def tool_call_pieces(text: str, tool_uses: Iterable[ToolUse]) -> Iterator[PromptPiece]:
    """Yield, for each tool call, the text before it, the call and the result, as the model received them."""
    offset = 0
    for use in tool_uses:
        if words := text[offset : use.text_offset].strip():
            yield PromptPiece("assistant", "own", Text(words))
        offset = use.text_offset
        yield PromptPiece("assistant", "call", ToolCall(use.call_id, use.name, use.arguments), use.name)
        result = ToolResult(use.call_id, use.name, use.content, use.is_error)
        yield PromptPiece("user", "result", result, use.name)


def build_prompt_parts(
    model: str, pieces: Sequence[PromptPiece], rate: float = CHARACTERS_PER_TOKEN, tools: tuple[str, ...] = ()
) -> PromptParts:
    """`rate`: characters per token of the model."""
    parts = tuple(_part_view(piece, rate) for piece in pieces)
    return PromptParts(model=model, tokens=sum(part.tokens for part in parts), parts=parts, tools=tools)


def _part_view(piece: PromptPiece, rate: float) -> PromptPartView:
    text = part_text(piece.part)
    return PromptPartView(
        role=piece.role,
        origin=piece.origin,
        name=piece.name,
        message=piece.message,
        text=text or "",
        tokens=estimate_part_tokens([piece.part], rate),
        size=piece.size if text is None else None,
    )
