"""The `Dialect` protocol: the server side of a wire format."""

import json
from typing import Any, Protocol

from msgspec import Struct

from moot.providers.scripted.scripts import ScriptedTool
from moot.types.chunks import FinishReason
from moot.types.requests import ModelRequest


class TokenCounts(Struct, frozen=True):
    input: int
    output: int


class Dialect(Protocol):
    """Builds the frames of one response. A frame is the JSON value of an event."""

    def parse_request(self, body: Any, model: str) -> ModelRequest: ...

    def opening_frames(self, counts: TokenCounts | None) -> list[Any]: ...

    def thought_frames(self, text: str) -> list[Any]: ...

    def text_frames(self, piece: str) -> list[Any]: ...

    def tool_frames(self, tool: ScriptedTool, *, without_index: bool) -> list[Any]: ...

    def partial_tool_frames(self, tool: ScriptedTool) -> list[Any]: ...

    def duplicate_end_frames(self, answer: str) -> list[Any]: ...

    def empty_frames(self) -> list[Any]: ...

    def finish_frames(self, finish: FinishReason, counts: TokenCounts | None) -> list[Any]: ...

    def closing_frames(self) -> list[Any]: ...

    def error_frame(self, status: int, message: str) -> Any: ...


def encode_frame(frame: Any) -> bytes:
    """Encode a frame as JSON. Lone surrogates become escapes, because UTF-8 cannot encode them."""
    if isinstance(frame, str):
        return frame.encode()  # not JSON: a closing event such as [DONE], or an injected fault
    try:
        return json.dumps(frame, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(frame).encode()


def plain_text(content: Any) -> str:
    """Return the text of a message, which is a string or a list of parts."""
    return "\n\n".join(part.get("text", "") for part in content) if isinstance(content, list) else str(content or "")


def split_in_half(text: str) -> tuple[str, str]:
    middle = len(text) // 2
    return text[:middle], text[middle:]
