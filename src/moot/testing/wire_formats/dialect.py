"""What the lab must know of a wire format to speak it from the server's side."""

import json
from typing import Any, Protocol

from msgspec import Struct

from moot.providers.scripted.scripts import ScriptedTool
from moot.types.chunks import Finish
from moot.types.requests import ModelRequest


class Counts(Struct, frozen=True):
    input: int
    output: int


class Dialect(Protocol):
    """Frames are the JSON values of events, in the order in which they are sent."""

    def request(self, body: Any, model: str) -> ModelRequest: ...

    def opening(self, counts: Counts | None) -> list[Any]: ...

    def thought(self, text: str) -> list[Any]: ...

    def text(self, piece: str) -> list[Any]: ...

    def tool(self, tool: ScriptedTool, *, loose: bool) -> list[Any]: ...

    def cut_tool(self, tool: ScriptedTool) -> list[Any]: ...

    def repeated_end(self, answer: str) -> list[Any]: ...

    def empty(self) -> list[Any]: ...

    def finish(self, finish: Finish, counts: Counts | None) -> list[Any]: ...

    def closing(self) -> list[Any]: ...

    def error(self, status: int, message: str) -> Any: ...


def encoded(frame: Any) -> bytes:
    """Write a frame as JSON; lone surrogates can only be written as escapes."""
    if isinstance(frame, str):
        return frame.encode()  # a closing word such as [DONE], or deliberate nonsense
    try:
        return json.dumps(frame, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(frame).encode()


def halves(text: str) -> tuple[str, str]:
    middle = len(text) // 2
    return text[:middle], text[middle:]
