"""What a model is asked, before any wire format."""

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


class Message(Struct, frozen=True):
    role: Literal["user", "assistant"]
    parts: tuple[Part, ...]


class Tool(Struct, frozen=True):
    """A function the model may call; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Raw


class ModelRequest(Struct, frozen=True, kw_only=True):
    """`json_schema` is the form of an answer.

    An answer that is an array has items of the form `array_of`; few providers can hold a model to that, so words ask
    for it as well.
    """

    model: str
    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[Tool, ...] = ()
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    json_schema: Raw | None = None
    array_of: Raw | None = None
    thinking: Effort | None = None


def user(*parts: Part | str) -> Message:
    return Message("user", tuple(Text(p) if isinstance(p, str) else p for p in parts))


def assistant(*parts: Part | str) -> Message:
    return Message("assistant", tuple(Text(p) if isinstance(p, str) else p for p in parts))


def unsigned(request: ModelRequest) -> ModelRequest:
    """Take the proofs of one provider away, so that another can read what was thought and called."""
    return replace(request, messages=tuple(map(_unsigned, request.messages)))


def _unsigned(message: Message) -> Message:
    signed = (Thought, ToolCall)
    parts = (replace(one, signature="") if isinstance(one, signed) else one for one in message.parts)
    return replace(message, parts=tuple(parts))
