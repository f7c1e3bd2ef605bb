"""Reading a table: lines that begin with a pipe, which stay together however many there are."""

import re
import sys

from moot.channels.discord.pieces import Prose, Table
from moot.channels.discord.reading import Held, Search, Turn

_NEWLINE = re.compile(r"\n")
_HEAD = re.compile(r"[ \t]*\|[^\n]*\n[ \t]*\|[ \t:|-]*-[ \t:|-]*(?:\n|$)")


class TableReader:
    limit = sys.maxsize

    def __init__(self) -> None:
        self.held = Held()
        self.search: Search = _NEWLINE.search
        self.calm = False
        self._rows = 0  # characters up to the end of the last whole row

    def step(self, char: str) -> Turn | None:
        if not self.calm and char not in " \t":
            if char != "|":
                return self._ended(char)
            self.calm = True
        self.held.add(char)
        if char == "\n":
            self.calm = False
            self._rows = self.held.length
        return None

    def overflow(self) -> Turn:
        return self._ended("")

    def end(self) -> Prose | Table | None:
        text = self.held.text()
        return Table(text) if _HEAD.match(text) else Prose(text)

    def _ended(self, char: str) -> Turn:
        text = self.held.text()
        rows = text[: self._rows]
        return Turn(Table(rows) if _HEAD.match(rows) else Prose(rows), "line", text[self._rows :] + char)
