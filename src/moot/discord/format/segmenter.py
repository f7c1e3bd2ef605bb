"""Cutting a stream of text into pieces at flush boundaries; every character is looked at once.

A piece goes as soon as the characters after it have shown where it ends, so what comes out depends on the text alone,
not on how it was cut on its way.
"""

from moot.discord.format.pieces import CodeFence, MarkdownPiece, NextReader, PieceReader, Transition
from moot.discord.format.readers import CodeReader, ProseReader, TableReader


class Segmenter:
    def __init__(self, *, sentences: bool) -> None:
        self._sentences = sentences
        self._reader: PieceReader = self._create_reader("line")

    def feed(self, text: str) -> list[MarkdownPiece]:
        reader = self._reader
        if (
            reader.can_skip
            and reader.buffer.length + len(text) < reader.max_chars
            and not reader.find_special(text, 0)
        ):
            reader.buffer.append_text(text)
            return []
        pieces: list[MarkdownPiece] = []
        self._read_text(text, pieces)
        return pieces

    def finish_text(self) -> list[MarkdownPiece]:
        """Give out what is left; what comes after it begins a line."""
        piece = self._reader.finish_piece()
        self._reader = self._create_reader("line")
        return [piece] if piece is not None else []

    def _read_text(self, text: str, pieces: list[MarkdownPiece]) -> None:
        at = 0
        while at < len(text):
            reader = self._reader
            turn = None
            to = self._skip_end(text, at)
            if to > at:
                reader.buffer.append_text(text[at:to])
                at = to
            else:
                turn = reader.read_char(text[at])
                at += 1
            if turn is None and reader.buffer.length >= reader.max_chars:
                turn = reader.split_overflow()
            if turn is not None:
                self._apply_transition(turn, pieces)

    def _skip_end(self, text: str, at: int) -> int:
        reader = self._reader
        if not reader.can_skip:
            return at
        special = reader.find_special(text, at)
        return min(special.start() if special else len(text), at + reader.max_chars - reader.buffer.length)

    def _apply_transition(self, transition: Transition, pieces: list[MarkdownPiece]) -> None:
        if transition.piece is not None:
            pieces.append(transition.piece)
        self._reader = self._create_reader(transition.next_reader)
        self._read_text(transition.unread_text, pieces)

    def _create_reader(self, next_reader: NextReader) -> PieceReader:
        match next_reader:
            case CodeFence():
                return CodeReader(next_reader)
            case "table":
                return TableReader()
            case _:
                return ProseReader(sentences=self._sentences, at_line_start=next_reader == "line")
