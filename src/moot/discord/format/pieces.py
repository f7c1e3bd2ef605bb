"""The pieces that a stream is split into, and the protocol of their readers."""

import re
from collections.abc import Callable
from typing import Literal, Protocol

from msgspec import Struct


class Prose(Struct, frozen=True):
    text: str


class CodeBlock(Struct, frozen=True):
    """A block of code, without its fences; `lead` is punctuation that stands before it."""

    language: str
    text: str
    leading_text: str = ""


class MarkdownTable(Struct, frozen=True):
    text: str


MarkdownPiece = Prose | CodeBlock | MarkdownTable


FindSpecial = Callable[[str, int], re.Match[str] | None]


class CodeFence(Struct, frozen=True):
    """What opened a block of code, what stood before it on its line, and its language once that is known."""

    tick: str
    tick_count: int
    prefix: str
    language: str | None = None


# Prose at the start of a line or within one, a table, or code.
NextReader = Literal["line", "words", "table"] | CodeFence


class Transition(Struct, frozen=True):
    """A piece is whole: what comes next, and the characters after it that are to be read again as such."""

    piece: MarkdownPiece | None
    next_reader: NextReader
    unread_text: str


class TextBuffer:
    """The text that a reader holds; adding to it takes the same time however long it is."""

    def __init__(self) -> None:
        self.length = 0
        self._parts: list[str] = []

    def append_text(self, text: str) -> None:
        self._parts.append(text)
        self.length += len(text)

    def whole_text(self) -> str:
        whole = "".join(self._parts)
        self._parts = [whole]
        return whole

    def last_char(self) -> str:
        return self._parts[-1][-1:] if self._parts else ""


class PieceReader(Protocol):
    """Reads one piece. While it is calm, a run of characters that `search` does not find may be added as a whole."""

    buffer: TextBuffer
    can_skip: bool
    find_special: FindSpecial

    @property
    def max_chars(self) -> int: ...

    def read_char(self, char: str) -> Transition | None: ...

    def split_overflow(self) -> Transition:
        """Give out part of a piece that has reached its limit."""

    def finish_piece(self) -> MarkdownPiece | None:
        """Give out what is held: nothing more will come."""
