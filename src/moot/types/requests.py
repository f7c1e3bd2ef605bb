"""Model requests, independent of a provider's wire format."""

from typing import Literal

from msgspec import Raw, Struct
from msgspec.structs import replace

from moot.types.chunks import Text, Thought, ToolCall

Effort = Literal["low", "medium", "high"]


class File(Struct, frozen=True, tag="file"):
    name: str
    media_type: str
    data: bytes


class ToolResult(Struct, frozen=True, tag="tool_result"):
    call_id: str
    name: str
    content: str
    is_error: bool = False


Part = Text | Thought | File | ToolCall | ToolResult


class ModelMessage(Struct, frozen=True):
    role: Literal["user", "assistant"]
    parts: tuple[Part, ...]


class Tool(Struct, frozen=True):
    """A function that the model may call."""

    name: str
    description: str
    parameters: Raw  # JSON schema


class ModelRequest(Struct, frozen=True, kw_only=True):
    model: str
    messages: tuple[ModelMessage, ...]
    system: str = ""
    tools: tuple[Tool, ...] = ()
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    json_schema: Raw | None = None  # schema of the response
    # Item schema of an array response; few providers enforce it, so the prompt states it too.
    array_of: Raw | None = None
    thinking: Effort | None = None


def user_message(*parts: Part | str) -> ModelMessage:
    return ModelMessage("user", tuple(Text(p) if isinstance(p, str) else p for p in parts))


def assistant_message(*parts: Part | str) -> ModelMessage:
    return ModelMessage("assistant", tuple(Text(p) if isinstance(p, str) else p for p in parts))


def strip_signatures(request: ModelRequest) -> ModelRequest:
    """Remove provider signatures, because another provider rejects them when a request falls back to it."""
    return replace(request, messages=tuple(map(_strip_message_signatures, request.messages)))


def _strip_message_signatures(message: ModelMessage) -> ModelMessage:
    signed = (Thought, ToolCall)
    parts = (replace(one, signature="") if isinstance(one, signed) else one for one in message.parts)
    return replace(message, parts=tuple(parts))
