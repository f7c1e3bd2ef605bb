"""Cutting a stream of text into pieces at flush boundaries; every character is looked at once.

A piece goes as soon as the characters after it have shown where it ends, so what comes out depends on the text alone,
not on how it was cut on its way.
"""

from moot.discord.format.pieces import Fence, Into, Piece, Reader, Turn
from moot.discord.format.readers import CodeReader, ProseReader, TableReader


class Segmenter:
    def __init__(self, *, sentences: bool) -> None:
        self._sentences = sentences
        self._reader: Reader = self._begun("line")

    def feed(self, text: str) -> list[Piece]:
        reader = self._reader
        if reader.calm and reader.held.length + len(text) < reader.limit and not reader.search(text, 0):
            reader.held.add(text)
            return []
        pieces: list[Piece] = []
        self._read(text, pieces)
        return pieces

    def end(self) -> list[Piece]:
        """Give out what is left; what comes after it begins a line."""
        piece = self._reader.end()
        self._reader = self._begun("line")
        return [piece] if piece is not None else []

    def _read(self, text: str, pieces: list[Piece]) -> None:
        at = 0
        while at < len(text):
            reader = self._reader
            turn = None
            to = self._calm_until(text, at)
            if to > at:
                reader.held.add(text[at:to])
                at = to
            else:
                turn = reader.step(text[at])
                at += 1
            if turn is None and reader.held.length >= reader.limit:
                turn = reader.overflow()
            if turn is not None:
                self._take(turn, pieces)

    def _calm_until(self, text: str, at: int) -> int:
        reader = self._reader
        if not reader.calm:
            return at
        special = reader.search(text, at)
        return min(special.start() if special else len(text), at + reader.limit - reader.held.length)

    def _take(self, turn: Turn, pieces: list[Piece]) -> None:
        if turn.piece is not None:
            pieces.append(turn.piece)
        self._reader = self._begun(turn.into)
        self._read(turn.again, pieces)

    def _begun(self, into: Into) -> Reader:
        match into:
            case Fence():
                return CodeReader(into)
            case "table":
                return TableReader()
            case _:
                return ProseReader(sentences=self._sentences, line=into == "line")
