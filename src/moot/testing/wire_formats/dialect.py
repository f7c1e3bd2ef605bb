"""What the lab must know of a wire format to speak it from the server's side."""

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
    """Frames are the JSON values of events, in the order in which they are sent."""

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
    """Write a frame as JSON; lone surrogates can only be written as escapes."""
    if isinstance(frame, str):
        return frame.encode()  # a closing word such as [DONE], or deliberate nonsense
    try:
        return json.dumps(frame, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(frame).encode()


def split_in_half(text: str) -> tuple[str, str]:
    middle = len(text) // 2
    return text[:middle], text[middle:]
