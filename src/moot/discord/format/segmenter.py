"""Segmenter: splits a text stream into Markdown pieces, in linear time.

The result depends on the text alone, not on how the stream was divided into deltas.
"""

from moot.discord.format.pieces import CodeFence, MarkdownPiece, NextReader, PieceReader, Transition
from moot.discord.format.readers import CodeReader, ProseReader, TableReader


class Segmenter:
    def __init__(self, *, sentences: bool) -> None:
        self._sentences = sentences
        self._reader: PieceReader = self._create_reader("line")

    def feed(self, text: str) -> list[MarkdownPiece]:
        reader = self._reader
        if reader.can_skip and reader.buffer.length + len(text) < reader.max_chars and not reader.find_special(text, 0):
            reader.buffer.append_text(text)
            return []
        pieces: list[MarkdownPiece] = []
        self._read_text(text, pieces)
        return pieces

    def finish_text(self) -> list[MarkdownPiece]:
        """Return the rest of the buffer. Text that is fed later starts a line."""
        piece = self._reader.finish_piece()
        self._reader = self._create_reader("line")
        return [piece] if piece is not None else []

    def _read_text(self, text: str, pieces: list[MarkdownPiece]) -> None:
        position = 0
        while position < len(text):
            reader = self._reader
            transition = None
            end = self._skip_end(text, position)
            if end > position:
                reader.buffer.append_text(text[position:end])
                position = end
            else:
                transition = reader.read_char(text[position])
                position += 1
            if transition is None and reader.buffer.length >= reader.max_chars:
                transition = reader.split_overflow()
            if transition is not None:
                self._apply_transition(transition, pieces)

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
