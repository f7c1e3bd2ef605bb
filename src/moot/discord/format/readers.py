"""Readers for the three kinds of Markdown in a stream: prose, code fences, tables."""

import re
import sys

from moot.discord.format.boundaries import (
    MARK_CHARACTERS,
    SENTENCE_CLOSERS,
    MarkTracker,
    ends_sentence,
    find_split,
)
from moot.discord.format.pieces import (
    CodeBlock,
    CodeFence,
    FindSpecial,
    MarkdownTable,
    NextReader,
    Prose,
    TextBuffer,
    Transition,
)

MAX_CODE_CHARS = 15_000
LANGUAGE_NAME = re.compile(r"[\w+#.-]{0,30}")
LINE_PREFIX = " \t>"  # what may stand before a fence
_FENCE_MARK = re.compile(r"[\n`~]")


class CodeReader:
    max_chars = MAX_CODE_CHARS

    def __init__(self, fence: CodeFence) -> None:
        self.buffer = TextBuffer()
        self.find_special: FindSpecial = _FENCE_MARK.search
        self._fence = fence
        self._language = fence.language
        self._is_line_blank = fence.language is not None  # nothing on this line yet
        self._tick_count = 0  # of ticks at the end
        self.can_skip = not self._is_line_blank

    def read_char(self, char: str) -> Transition | None:
        if self._tick_count and char != self._fence.tick:
            if self._is_closing_fence(char):
                return Transition(
                    self._build_code_block(self.buffer.length - self._tick_count), "words", char
                )
            self._tick_count, self._is_line_blank = 0, False
        if char == "\n":
            self._is_line_blank = True
            self._finish_line()
        else:
            self._tick_count += char == self._fence.tick
            self._is_line_blank = self._is_line_blank and (char in LINE_PREFIX or self._tick_count > 0)
            self.buffer.append_text(char)
        self.can_skip = not (self._is_line_blank or self._tick_count)
        return None

    def split_overflow(self) -> Transition:
        text = self.buffer.whole_text()
        place = text.rfind("\n") + 1 or len(text) - self._tick_count or len(text)
        fence = CodeFence(self._fence.tick, self._fence.tick_count, self._fence.prefix, self._language or "")
        return Transition(self._build_code_block(place), fence, text[place:])

    def finish_piece(self) -> CodeBlock | None:
        return self._build_code_block(
            self.buffer.length - self._tick_count if self._is_closing_fence("\n") else self.buffer.length
        )

    def _is_closing_fence(self, char: str) -> bool:
        """Tell whether the run before this character ends the block: alone on its line, or at the end of one."""
        return self._tick_count >= self._fence.tick_count and (
            self._is_line_blank or self._language is None or char.isspace()
        )

    def _finish_line(self) -> None:
        if self._language is None:
            told = self.buffer.whole_text().strip()
            self._language = told if LANGUAGE_NAME.fullmatch(told) else ""
            if told == self._language:
                self.buffer = TextBuffer()
                return
        self.buffer.append_text("\n")

    def _build_code_block(self, end: int) -> CodeBlock | None:
        text = self.buffer.whole_text()[:end]
        prefix = len(self._fence.prefix)
        if prefix:
            text = re.sub(rf"(?m)^[ \t>]{{1,{prefix}}}", "", text)
        return CodeBlock(self._language or "", text.strip("\n").rstrip()) if text.strip() else None


MAX_PROSE_CHARS = 1000
SENTENCE_LOOKAHEAD = 200  # characters beyond that in which a sentence may still end
_WIDE_STOPS = "。！？"
_SENTENCE_STOPS = f".!?{_WIDE_STOPS}"
_SPECIAL_CHARACTER = re.compile(rf"[\n`{re.escape(MARK_CHARACTERS)}]")
_SPECIAL_OR_STOP = re.compile(rf"[\n`{re.escape(MARK_CHARACTERS + _SENTENCE_STOPS)}]")
_TAG_START = re.compile(r"[a-zA-Z/@#:!|]")


class ProseReader:
    max_chars = MAX_PROSE_CHARS + SENTENCE_LOOKAHEAD

    def __init__(self, *, sentences: bool, at_line_start: bool) -> None:
        self.buffer = TextBuffer()
        self.find_special: FindSpecial = (_SPECIAL_OR_STOP if sentences else _SPECIAL_CHARACTER).search
        self.can_skip = not at_line_start
        self._sentences = sentences
        self._marks = MarkTracker()
        self._is_line_blank = at_line_start  # nothing on this line yet but white space and quote marks
        self._line_start = 0  # where this line begins
        self._pending_kind = (
            ""  # what the last character may begin or end: newline, stop, tag, pipe, run or info
        )
        self._tick, self._tick_count = "`", 0  # backticks or tildes
        self._info_start = 0  # where a run within a line ended, after which only a language was said yet
        self._span_tick_count = 0  # length of the run that opened a span of code

    def read_char(self, char: str) -> Transition | None:
        if self._pending_kind == "run":
            if char == self._tick:
                self._tick_count += 1
                self.buffer.append_text(char)
                return None
            if self._tick_count >= 3 and self._is_line_blank:
                return self._switch_to_code(char)
            self._finish_tick_run()
        turn = self._resolve_pending_char(char)
        if turn is None:
            self._observe_char(char)
            self.buffer.append_text(char)
            self.can_skip = not (self._pending_kind or self._is_line_blank)
        return turn

    def split_overflow(self) -> Transition:
        text = self.buffer.whole_text()
        place = find_split(text, MAX_PROSE_CHARS, SENTENCE_LOOKAHEAD)
        return Transition(Prose(text[:place]), "line" if text[place - 1] == "\n" else "words", text[place:])

    def finish_piece(self) -> Prose | None:
        text = self.buffer.whole_text()
        if self._pending_kind == "run" and self._tick_count >= 3 and self._is_line_blank:
            text = text[: -self._tick_count]  # a block that never began
        return Prose(text) if text.strip() else None

    def _resolve_pending_char(self, char: str) -> Transition | None:
        """Decide what the last character was, now that the one after it is known."""
        last = self._pending_kind
        if last == "info":
            return self._read_after_tick_run(char)
        if last == "stop" and (char in SENTENCE_CLOSERS or char in _SENTENCE_STOPS):
            return None
        self._pending_kind = ""
        match last:
            case "newline" if self._can_end():
                return self._finish_prose("line", char)
            case "stop" if self._can_end() and self._is_sentence_end(char):
                return self._finish_prose("words", char)
            case "tag" if not _TAG_START.match(char):
                self._marks.discard_tag()
            case "pipe" if char != "|":  # two begin a spoiler
                return self._switch_to_table(char)
        return None

    def _observe_char(self, char: str) -> None:
        """Note what this character may mean, before it is added."""
        if char == "\n":
            self._pending_kind, self._is_line_blank, self._span_tick_count = "newline", True, 0
            self._line_start = self.buffer.length + 1
        elif char == "`" or (char == "~" and self._is_line_blank):
            self._pending_kind, self._tick, self._tick_count = "run", char, 1
        elif (
            self._is_line_blank
            and char == "|"
            and not self.buffer.whole_text()[self._line_start :].strip(" \t")
        ):
            self._pending_kind = "pipe"
        elif self._span_tick_count == 0 and char in MARK_CHARACTERS:
            self._marks.track_mark(char, self.buffer.last_char(), self.buffer.length)
            if char == "<":
                self._pending_kind = "tag"
        elif self._span_tick_count == 0 and self._sentences and char in _SENTENCE_STOPS:
            self._pending_kind = "stop"
        self._is_line_blank = self._is_line_blank and (
            char in LINE_PREFIX or self._pending_kind in {"newline", "run"}
        )

    def _can_end(self) -> bool:
        return not self._marks.is_open_at(self.buffer.length) and self.buffer.whole_text().strip() != ""

    def _finish_prose(self, next_reader: NextReader, unread_text: str) -> Transition:
        return Transition(Prose(self.buffer.whole_text()), next_reader, unread_text)

    def _is_sentence_end(self, char: str) -> bool:
        text = self.buffer.whole_text().rstrip(SENTENCE_CLOSERS)
        if text[-1] in _WIDE_STOPS:
            return "://" not in text.split()[-1]
        return char.isspace() and ends_sentence(text)

    def _finish_tick_run(self) -> None:
        """Decide what a run within a line was, or a short one: the end of a span, or the beginning of one."""
        self._pending_kind, self._is_line_blank = "", False
        if self._tick == "~":
            return
        if self._span_tick_count:
            self._span_tick_count = 0 if self._tick_count == self._span_tick_count else self._span_tick_count
        elif self._tick_count >= 3:
            self._pending_kind, self._info_start = "info", self.buffer.length
        else:
            self._span_tick_count = self._tick_count

    def _read_after_tick_run(self, char: str) -> Transition | None:
        """A run within a line opens a block if only a language follows on that line, else a span."""
        language = self.buffer.whole_text()[self._info_start :]
        if char == "\n":
            return self._switch_to_code(language + char, self._info_start - self._tick_count)
        if not LANGUAGE_NAME.fullmatch(language + char):
            self._pending_kind, self._span_tick_count = "", self._tick_count
            return self._resolve_pending_char(char)
        return None

    def _switch_to_code(self, unread_text: str, position: int | None = None) -> Transition:
        text = self.buffer.whole_text()
        before = text[: len(text) - self._tick_count if position is None else position]
        kept = before.rstrip(LINE_PREFIX) if self._is_line_blank else before
        fence = CodeFence(self._tick, self._tick_count, before[len(kept) :])
        return Transition(Prose(kept) if kept.strip() else None, fence, unread_text)

    def _switch_to_table(self, char: str) -> Transition:
        text = self.buffer.whole_text()
        before, row = text[: self._line_start], text[self._line_start :]
        return Transition(Prose(before) if before.strip() else None, "table", row + char)


_NEWLINE = re.compile(r"\n")
_TABLE_HEAD = re.compile(r"[ \t]*\|[^\n]*\n[ \t]*\|[ \t:|-]*-[ \t:|-]*(?:\n|$)")


class TableReader:
    max_chars = sys.maxsize

    def __init__(self) -> None:
        self.buffer = TextBuffer()
        self.find_special: FindSpecial = _NEWLINE.search
        self.can_skip = False
        self._rows_end = 0  # characters up to the end of the last whole row

    def read_char(self, char: str) -> Transition | None:
        if not self.can_skip and char not in " \t":
            if char != "|":
                return self._finish_table(char)
            self.can_skip = True
        self.buffer.append_text(char)
        if char == "\n":
            self.can_skip = False
            self._rows_end = self.buffer.length
        return None

    def split_overflow(self) -> Transition:
        return self._finish_table("")

    def finish_piece(self) -> Prose | MarkdownTable | None:
        text = self.buffer.whole_text()
        return MarkdownTable(text) if _TABLE_HEAD.match(text) else Prose(text)

    def _finish_table(self, char: str) -> Transition:
        text = self.buffer.whole_text()
        rows = text[: self._rows_end]
        return Transition(
            MarkdownTable(rows) if _TABLE_HEAD.match(rows) else Prose(rows),
            "line",
            text[self._rows_end :] + char,
        )
