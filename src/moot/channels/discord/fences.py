"""Reading a block of code up to the fence that closes it."""

import re

from moot.channels.discord.pieces import Code
from moot.channels.discord.reading import Fence, Held, Search, Turn

LONGEST_CODE = 15_000
LANGUAGE = re.compile(r"[\w+#.-]{0,30}")
LINE_PREFIX = " \t>"  # what may stand before a fence
_FENCE_MARK = re.compile(r"[\n`~]")


class CodeReader:
    limit = LONGEST_CODE

    def __init__(self, fence: Fence) -> None:
        self.held = Held()
        self.search: Search = _FENCE_MARK.search
        self._fence = fence
        self._language = fence.language
        self._blank = fence.language is not None  # nothing on this line yet
        self._run = 0  # of ticks at the end
        self.calm = not self._blank

    def step(self, char: str) -> Turn | None:
        if self._run and char != self._fence.tick:
            if self._closes(char):
                return Turn(self._code(self.held.length - self._run), "words", char)
            self._run, self._blank = 0, False
        if char == "\n":
            self._blank = True
            self._end_line()
        else:
            self._run += char == self._fence.tick
            self._blank = self._blank and (char in LINE_PREFIX or self._run > 0)
            self.held.add(char)
        self.calm = not (self._blank or self._run)
        return None

    def overflow(self) -> Turn:
        text = self.held.text()
        place = text.rfind("\n") + 1 or len(text) - self._run or len(text)
        fence = Fence(self._fence.tick, self._fence.run, self._fence.prefix, self._language or "")
        return Turn(self._code(place), fence, text[place:])

    def end(self) -> Code | None:
        return self._code(self.held.length - self._run if self._closes("\n") else self.held.length)

    def _closes(self, char: str) -> bool:
        """Tell whether the run before this character ends the block: alone on its line, or at the end of one."""
        return self._run >= self._fence.run and (self._blank or self._language is None or char.isspace())

    def _end_line(self) -> None:
        if self._language is None:
            told = self.held.text().strip()
            self._language = told if LANGUAGE.fullmatch(told) else ""
            if told == self._language:
                self.held = Held()
                return
        self.held.add("\n")

    def _code(self, end: int) -> Code | None:
        text = self.held.text()[:end]
        prefix = len(self._fence.prefix)
        if prefix:
            text = re.sub(rf"(?m)^[ \t>]{{1,{prefix}}}", "", text)
        return Code(self._language or "", text.strip("\n").rstrip()) if text.strip() else None
