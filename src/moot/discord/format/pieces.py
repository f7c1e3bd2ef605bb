"""Markdown pieces of a stream, and what their readers exchange."""

from typing import Literal

from msgspec import Struct


class Prose(Struct, frozen=True):
    text: str


class CodeBlock(Struct, frozen=True):
    language: str
    text: str  # without fences
    leading_text: str = ""  # buffered punctuation, placed before the block


class MarkdownTable(Struct, frozen=True):
    text: str


MarkdownPiece = Prose | CodeBlock | MarkdownTable


class CodeFence(Struct, frozen=True):
    """The opening fence of a code block."""

    tick: str  # backtick or tilde
    tick_count: int
    prefix: str  # indentation or quote marks before the fence; removed from each line of the code
    language: str | None = None  # None until the first line is read


# "line" is prose at a line start, "words" is prose within a line; a fence starts a code block.
NextReader = Literal["line", "words", "table"] | CodeFence


class Transition(Struct, frozen=True):
    """The result of a reader that has finished its piece."""

    piece: MarkdownPiece | None  # None if the piece is empty
    next_reader: NextReader
    unread_text: str  # already consumed, but belongs to the next reader


class TextBuffer:
    """Text buffer of a reader, with constant-time append."""

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
