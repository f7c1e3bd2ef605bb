"""Cutting a stream of text into pieces at flush boundaries; every character is looked at once.

A piece goes as soon as the character after its boundary has come, so what comes out depends on the text alone and not
on how it was cut on its way. A fence ends what was before it, and the block goes whole, as does a table. Elsewhere a
line ends a piece, and if wanted a sentence, but not while a bracket, a quote, a span of code or a tag is open.
"""

import re

from msgspec import Struct

from moot.channels.discord.boundaries import CLOSERS, cut, ends_sentence
from moot.channels.discord.marks import CHARACTERS, Marks

LONGEST_PROSE = 1000
AHEAD = 200  # characters beyond that in which a sentence may still end
LONGEST_CODE = 15_000
LONGEST_LANGUAGE = 30
_ENDLESS = 1 << 60  # a table is never cut here
_STOPS = ".!?。！？"
_WIDE_STOPS = "。！？"
_IN_LINES = re.compile(rf"[\n`{re.escape(CHARACTERS)}]")
_IN_SENTENCES = re.compile(rf"[\n`{re.escape(CHARACTERS + _STOPS)}]")
_IN_CODE = re.compile(r"[\n`~]")
_IN_TABLE = re.compile(r"\n")
_LANGUAGE = re.compile(rf"[\w+#.-]{{0,{LONGEST_LANGUAGE}}}")
_TAG_BEGINS = re.compile(r"[a-zA-Z/@#:!|]")
_LINE_PREFIX = " \t>"
_DELIMITERS = re.compile(r"[ \t]*\|[^\n]*\n[ \t]*\|[ \t:|-]*-[ \t:|-]*(?:\n|$)")


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


class Fence(Struct, frozen=True):
    """What opened a block of code, and what stood before it on its line."""

    tick: str
    run: int
    prefix: str


class Segmenter:
    def __init__(self, *, sentences: bool) -> None:
        self._sentences = sentences
        self._pieces: list[Piece] = []
        self._begin_prose(line=True)

    def feed(self, text: str) -> list[Piece]:
        at, end = 0, len(text)
        while at < end:
            if self._calm:
                mark = self._special.search(text, at)
                to = min(mark.start() if mark else end, at + self._limit - self._length)
                if to > at:
                    self._append(text[at:to])
                    at = to
                    continue
            self._step(text[at])
            at += 1
        return self._taken()

    def end(self) -> list[Piece]:
        """Give out what is left: nothing more will come before the next piece begins."""
        if self._fence is not None:
            self._end_code(self._run if self._closes("\n") else 0)
        elif self._run >= 3 and self._blank:
            self._flush(self._length - self._run)
        elif self._in_table:
            self._flush_table()
        else:
            self._flush(self._length)
        self._begin_prose(line=True)
        return self._taken()

    def _taken(self) -> list[Piece]:
        if not self._pieces:
            return []
        pieces, self._pieces = self._pieces, []
        return pieces

    def _begin_prose(self, *, line: bool) -> None:
        """Begin with nothing held; `line` tells whether what comes is at the start of a line."""
        self._buffer: list[str] = []
        self._length = 0
        self._limit = LONGEST_PROSE + AHEAD
        self._special = _IN_SENTENCES if self._sentences else _IN_LINES
        self._marks = Marks()
        self._fence: Fence | None = None
        self._language: str | None = None
        self._in_table = False
        self._blank = line  # nothing on this line yet but white space and quote marks
        self._newline = False  # the last character was one
        self._stop = False  # the last characters were a stop, and marks that close
        self._pipe = False  # the last character was the first of its line, and a pipe
        self._tag = False  # the last character may have begun a tag
        self._tick, self._run = "`", 0  # the run of backticks or tildes at the end
        self._info = 0  # length of a run after which only a language was said yet
        self._span = 0  # length of the run that opened a span of code
        self._calm = not line

    # What comes one by one

    def _step(self, char: str) -> None:
        if self._fence is not None:
            self._step_code(char)
        elif self._in_table:
            self._step_table(char)
        else:
            self._step_prose(char)
        self._calm = not (
            self._blank or self._newline or self._stop or self._pipe or self._tag or self._run or self._info
        )

    def _append(self, text: str) -> None:
        self._buffer.append(text)
        self._length += len(text)
        if self._length >= self._limit:
            self._overflow()

    def _held(self) -> str:
        held = "".join(self._buffer)
        self._buffer = [held]
        return held

    def _keep(self, text: str) -> None:
        self._buffer = [text] if text else []
        self._length = len(text)

    # Prose

    def _step_prose(self, char: str) -> None:
        if self._run:
            if char == self._tick:
                self._run += 1
                self._append(char)
                return
            if self._opens_fence():
                self._step_code(char)
                return
        if self._settle(char):
            return
        self._see(char)
        self._append(char)

    def _settle(self, char: str) -> bool:
        """Decide what waited for this character; tell whether it has been taken in by that."""
        if self._info and self._in_info(char):
            return True
        if self._newline:
            self._newline = False
            if not self._marks.open_at(self._length):
                self._flush(self._length)
        elif self._stop and char not in CLOSERS and char not in _STOPS:
            self._end_sentence(char)
        elif self._tag:
            self._tag = False
            if not _TAG_BEGINS.match(char):
                self._marks.no_tag()
        elif self._pipe:
            self._pipe = False
            if char != "|":  # else a spoiler begins
                self._begin_table()
                self._step_table(char)
                return True
        return False

    def _see(self, char: str) -> None:
        """Note what this character means, before it is added."""
        if char == "\n":
            self._newline, self._blank, self._span = True, True, 0
        elif char == "`" or (char == "~" and self._blank):
            self._tick, self._run = char, 1
        elif self._span:
            return
        elif self._blank and char == "|":
            self._blank, self._pipe = False, True
        elif self._sentences and char in _STOPS:
            self._stop, self._blank = True, False
        elif char in CHARACTERS:
            self._marks.see(char, self._last(), self._length)
            self._tag = char == "<"
            self._blank = self._blank and char == ">"
        elif self._blank and char not in _LINE_PREFIX:
            self._blank = False

    def _last(self) -> str:
        return self._buffer[-1][-1] if self._buffer else ""

    def _end_sentence(self, char: str) -> None:
        self._stop = False
        if self._marks.open_at(self._length):
            return
        text = self._held().rstrip(CLOSERS)
        if text.endswith(tuple(_WIDE_STOPS)) or (char.isspace() and ends_sentence(text)):
            self._flush(self._length)

    def _opens_fence(self) -> bool:
        """Decide what the run that has just ended means; tell whether it opened a block of code."""
        run, self._run = self._run, 0
        if run >= 3 and self._blank:
            self._begin_code(self._length - run, run)
            return True
        self._blank = False
        if self._tick == "`":
            if self._span:
                self._span = 0 if run == self._span else self._span
            elif run >= 3:
                self._info = run
                self._info_from = self._length
            else:
                self._span = run
        return False

    def _in_info(self, char: str) -> bool:
        """Decide whether a run within a line opens a block: it does if only a language follows on that line."""
        if char == "\n":
            run, start = self._info, self._info_from
            language = self._held()[start:]
            self._info = 0
            self._begin_code(start - run, run)
            self._append(language)
            self._step_code(char)
            return True
        if not _LANGUAGE.fullmatch(char) or self._length - self._info_from >= LONGEST_LANGUAGE:
            self._span, self._info = self._info, 0
        return False

    def _flush(self, place: int) -> None:
        """Give out what is held up to this place; white space alone waits for what comes after it."""
        held = self._held()
        if not held[:place].strip():
            return
        self._pieces.append(Prose(held[:place]))
        self._marks = Marks()
        self._keep(held[place:])

    def _overflow(self) -> None:
        if self._fence is not None:
            self._cut_code()
            return
        held = self._held()
        place = cut(held, LONGEST_PROSE, AHEAD)
        self._pieces.append(Prose(held[:place]))
        self._begin_prose(line=held[place - 1] == "\n")
        self._pieces += self.feed(held[place:])

    # Code

    def _begin_code(self, place: int, run: int) -> None:
        """Give out what is before the fence, and begin the block."""
        before = self._held()[:place]
        text = before.rstrip(_LINE_PREFIX) if self._blank else before
        tick = self._tick
        if text.strip():
            self._pieces.append(Prose(text))
        self._begin_prose(line=False)
        self._fence = Fence(tick, run, before[len(text) :])
        self._special, self._limit = _IN_CODE, LONGEST_CODE

    def _step_code(self, char: str) -> None:
        fence = self._fence
        if fence is None:
            return
        if self._run and char != fence.tick:
            if self._closes(char):
                self._end_code(self._run)
                self._step_prose(char)
                return
            self._run, self._blank = 0, False
        if char == "\n":
            self._end_code_line()
            return
        if char == fence.tick:
            self._run += 1
        elif char not in _LINE_PREFIX:
            self._blank = False
        self._append(char)

    def _closes(self, char: str) -> bool:
        """Tell whether the run that this character follows ends the block."""
        if self._fence is None or self._run < self._fence.run:
            return False
        return self._blank or self._language is None or char.isspace()

    def _end_code_line(self) -> None:
        self._blank = True
        if self._language is None:
            told = self._held().strip() if self._buffer else ""
            self._language = told if _LANGUAGE.fullmatch(told) else ""
            if self._language or not told:
                self._keep("")
                return
        self._append("\n")

    def _end_code(self, run: int) -> None:
        held = self._held()
        self._give_code(held[: self._length - run])
        self._begin_prose(line=False)

    def _cut_code(self) -> None:
        held = self._held()
        place = held.rfind("\n") + 1 or len(held) - self._run or len(held)
        self._give_code(held[:place])
        self._language = self._language or ""
        self._keep(held[place:])

    def _give_code(self, text: str) -> None:
        if self._fence is None:
            return
        prefix = len(self._fence.prefix)
        if prefix:
            text = re.sub(rf"(?m)^[ \t>]{{1,{prefix}}}", "", text)
        if text.strip():
            self._pieces.append(Code(self._language or "", text.strip("\n").rstrip()))

    # Tables

    def _begin_table(self) -> None:
        """Give out what is before the line that a pipe has just begun."""
        line = self._held().rfind("\n") + 1
        self._flush(line)
        held = self._held()
        self._begin_prose(line=False)
        self._keep(held)
        self._in_table, self._special, self._limit = True, _IN_TABLE, _ENDLESS

    def _step_table(self, char: str) -> None:
        if self._newline:
            if char in " \t":
                self._append(char)
                return
            self._newline = False
            if char != "|":
                self._end_table(char)
                return
        if char == "\n":
            self._newline = True
        self._append(char)

    def _end_table(self, char: str) -> None:
        indent = self._flush_table()
        self._begin_prose(line=True)
        self._keep(indent)
        self._step_prose(char)

    def _flush_table(self) -> str:
        """Give out the table, and return what stands before the next line's first word."""
        held = self._held()
        end = held.rfind("\n") + 1 if self._newline or held.endswith("\n") else len(held)
        kind = Table if _DELIMITERS.match(held) else Prose
        self._pieces.append(kind(held[:end]))
        return held[end:]
