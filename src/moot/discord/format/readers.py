"""Readers for the three kinds of Markdown in a stream: prose, code fences, tables."""

import re
import sys

from moot.discord.format.boundaries import CHARACTERS, CLOSERS, Marks, cut, ends_sentence
from moot.discord.format.pieces import Code, Fence, Held, Into, Prose, Search, Table, Turn

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


LONGEST_PROSE = 1000
AHEAD = 200  # characters beyond that in which a sentence may still end
_WIDE_STOPS = "。！？"
_STOPS = f".!?{_WIDE_STOPS}"
_SPECIAL = re.compile(rf"[\n`{re.escape(CHARACTERS)}]")
_SPECIAL_OR_STOP = re.compile(rf"[\n`{re.escape(CHARACTERS + _STOPS)}]")
_TAG_BEGINS = re.compile(r"[a-zA-Z/@#:!|]")


class ProseReader:
    limit = LONGEST_PROSE + AHEAD

    def __init__(self, *, sentences: bool, line: bool) -> None:
        self.held = Held()
        self.search: Search = (_SPECIAL_OR_STOP if sentences else _SPECIAL).search
        self.calm = not line
        self._sentences = sentences
        self._marks = Marks()
        self._blank = line  # nothing on this line yet but white space and quote marks
        self._line = 0  # where this line begins
        self._last = ""  # what the last character may begin or end: newline, stop, tag, pipe, run or info
        self._tick, self._run = "`", 0  # backticks or tildes
        self._info = 0  # where a run within a line ended, after which only a language was said yet
        self._span = 0  # length of the run that opened a span of code

    def step(self, char: str) -> Turn | None:
        if self._last == "run":
            if char == self._tick:
                self._run += 1
                self.held.add(char)
                return None
            if self._run >= 3 and self._blank:
                return self._into_code(char)
            self._end_run()
        turn = self._settle(char)
        if turn is None:
            self._see(char)
            self.held.add(char)
            self.calm = not (self._last or self._blank)
        return turn

    def overflow(self) -> Turn:
        text = self.held.text()
        place = cut(text, LONGEST_PROSE, AHEAD)
        return Turn(Prose(text[:place]), "line" if text[place - 1] == "\n" else "words", text[place:])

    def end(self) -> Prose | None:
        text = self.held.text()
        if self._last == "run" and self._run >= 3 and self._blank:
            text = text[: -self._run]  # a block that never began
        return Prose(text) if text.strip() else None

    def _settle(self, char: str) -> Turn | None:
        """Decide what the last character was, now that the one after it is known."""
        last = self._last
        if last == "info":
            return self._after_run(char)
        if last == "stop" and (char in CLOSERS or char in _STOPS):
            return None
        self._last = ""
        match last:
            case "newline" if self._may_end():
                return self._ended("line", char)
            case "stop" if self._may_end() and self._ends_sentence(char):
                return self._ended("words", char)
            case "tag" if not _TAG_BEGINS.match(char):
                self._marks.no_tag()
            case "pipe" if char != "|":  # two begin a spoiler
                return self._into_table(char)
        return None

    def _see(self, char: str) -> None:
        """Note what this character may mean, before it is added."""
        if char == "\n":
            self._last, self._blank, self._span = "newline", True, 0
            self._line = self.held.length + 1
        elif char == "`" or (char == "~" and self._blank):
            self._last, self._tick, self._run = "run", char, 1
        elif self._blank and char == "|" and not self.held.text()[self._line :].strip(" \t"):
            self._last = "pipe"
        elif self._span == 0 and char in CHARACTERS:
            self._marks.see(char, self.held.last(), self.held.length)
            if char == "<":
                self._last = "tag"
        elif self._span == 0 and self._sentences and char in _STOPS:
            self._last = "stop"
        self._blank = self._blank and (char in LINE_PREFIX or self._last in {"newline", "run"})

    def _may_end(self) -> bool:
        return not self._marks.open_at(self.held.length) and self.held.text().strip() != ""

    def _ended(self, into: Into, again: str) -> Turn:
        return Turn(Prose(self.held.text()), into, again)

    def _ends_sentence(self, char: str) -> bool:
        text = self.held.text().rstrip(CLOSERS)
        if text[-1] in _WIDE_STOPS:
            return "://" not in text.split()[-1]
        return char.isspace() and ends_sentence(text)

    def _end_run(self) -> None:
        """Decide what a run within a line was, or a short one: the end of a span, or the beginning of one."""
        self._last, self._blank = "", False
        if self._tick == "~":
            return
        if self._span:
            self._span = 0 if self._run == self._span else self._span
        elif self._run >= 3:
            self._last, self._info = "info", self.held.length
        else:
            self._span = self._run

    def _after_run(self, char: str) -> Turn | None:
        """A run within a line opens a block if only a language follows on that line, else a span."""
        language = self.held.text()[self._info :]
        if char == "\n":
            return self._into_code(language + char, self._info - self._run)
        if not LANGUAGE.fullmatch(language + char):
            self._last, self._span = "", self._run
            return self._settle(char)
        return None

    def _into_code(self, again: str, place: int | None = None) -> Turn:
        text = self.held.text()
        before = text[: len(text) - self._run if place is None else place]
        kept = before.rstrip(LINE_PREFIX) if self._blank else before
        fence = Fence(self._tick, self._run, before[len(kept) :])
        return Turn(Prose(kept) if kept.strip() else None, fence, again)

    def _into_table(self, char: str) -> Turn:
        text = self.held.text()
        before, row = text[: self._line], text[self._line :]
        return Turn(Prose(before) if before.strip() else None, "table", row + char)


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
