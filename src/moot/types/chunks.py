"""Chunks of a provider's response stream, independent of the wire format.

A stream yields any number of chunks and ends with exactly one `Done` or `Failed`.
"""

from typing import Literal

from msgspec import Struct

from moot.types.faults import Fault

FinishReason = Literal["stop", "length", "tool_calls", "content_filter"]
LENGTH_LIMIT_NOTE = "Cut at the token limit."  # shown below an answer with finish reason `length`


class Text(Struct, frozen=True, tag="text"):
    text: str


class Thought(Struct, frozen=True, tag="thought"):
    """Reasoning text of the model."""

    text: str
    signature: str = ""  # proves origin; the next request of a tool loop must return it to the provider


class ToolCall(Struct, frozen=True, tag="tool_call"):
    """A complete tool call, never a partial one."""

    id: str
    name: str
    arguments: str  # valid JSON
    signature: str = ""  # as in `Thought`


class Usage(Struct, frozen=True, tag="usage"):
    """Token counts of one or more requests."""

    input: int = 0  # includes `cached` and `cache_written`
    output: int = 0  # includes `reasoning`
    reasoning: int = 0
    cached: int = 0
    cache_written: int = 0
    estimated: bool = False  # counted by Moot; the provider sent no usage

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.reasoning + other.reasoning,
            self.cached + other.cached,
            self.cache_written + other.cache_written,
            self.estimated or other.estimated,
        )


class Progress(Struct, frozen=True, tag="progress"):
    """Resets the idle timeout while content is incomplete, such as a partial tool call."""

    characters: int = 0


class Done(Struct, frozen=True, tag="done"):
    finish: FinishReason


class Failed(Struct, frozen=True, tag="failed"):
    fault: Fault


Chunk = Text | Thought | ToolCall | Usage | Progress | Done | Failed
