"""The pieces that a stream is split into, and the protocol of their readers."""

import re
from collections.abc import Callable
from typing import Literal, Protocol

from msgspec import Struct


class Prose(Struct, frozen=True):
    text: str


class Code(Struct, frozen=True):
    """A block of code, without its fences; `lead` is punctuation that stands before it."""

    language: str
    text: str
    lead: str = ""


class Table(Struct, frozen=True):
    text: str


Piece = Prose | Code | Table


Search = Callable[[str, int], re.Match[str] | None]


class Fence(Struct, frozen=True):
    """What opened a block of code, what stood before it on its line, and its language once that is known."""

    tick: str
    run: int
    prefix: str
    language: str | None = None


# Prose at the start of a line or within one, a table, or code.
Into = Literal["line", "words", "table"] | Fence


class Turn(Struct, frozen=True):
    """A piece is whole: what comes next, and the characters after it that are to be read again as such."""

    piece: Piece | None
    into: Into
    again: str


class Held:
    """The text that a reader holds; adding to it takes the same time however long it is."""

    def __init__(self) -> None:
        self.length = 0
        self._parts: list[str] = []

    def add(self, text: str) -> None:
        self._parts.append(text)
        self.length += len(text)

    def text(self) -> str:
        whole = "".join(self._parts)
        self._parts = [whole]
        return whole

    def last(self) -> str:
        return self._parts[-1][-1:] if self._parts else ""


class Reader(Protocol):
    """Reads one piece. While it is calm, a run of characters that `search` does not find may be added as a whole."""

    held: Held
    calm: bool
    search: Search

    @property
    def limit(self) -> int: ...

    def step(self, char: str) -> Turn | None: ...

    def overflow(self) -> Turn:
        """Give out part of a piece that has reached its limit."""

    def end(self) -> Piece | None:
        """Give out what is held: nothing more will come."""
