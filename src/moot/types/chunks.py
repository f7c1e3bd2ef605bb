"""What a provider's stream is made of, once its wire format is understood.

A stream is any number of chunks of the other kinds, then exactly one `Done` or `Failed`.
"""

from typing import Literal

from msgspec import Struct

from moot.types.faults import Fault

FinishReason = Literal["stop", "length", "tool_calls", "content_filter"]
LENGTH_LIMIT_NOTE = "Cut at the token limit."  # what is said of an answer that ended by its length


class Text(Struct, frozen=True, tag="text"):
    text: str


class Thought(Struct, frozen=True, tag="thought"):
    """Reasoning; the signature is the provider's proof that it wrote it, handed back in a tool loop."""

    text: str
    signature: str = ""


class ToolCall(Struct, frozen=True, tag="tool_call"):
    """A whole call: `arguments` is valid JSON text."""

    id: str
    name: str
    arguments: str
    signature: str = ""


class Usage(Struct, frozen=True, tag="usage"):
    """Tokens. Input includes what was cached and what was written to a cache; output includes reasoning."""

    input: int = 0
    output: int = 0
    reasoning: int = 0
    cached: int = 0
    cache_written: int = 0
    estimated: bool = False

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
    """A sign of life: content that is not whole yet, such as a tool call being written."""

    characters: int = 0


class Done(Struct, frozen=True, tag="done"):
    finish: FinishReason


class Failed(Struct, frozen=True, tag="failed"):
    fault: Fault


Chunk = Text | Thought | ToolCall | Usage | Progress | Done | Failed
