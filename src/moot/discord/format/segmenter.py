"""Segmenter: splits a text stream into Markdown pieces, in linear time, with one reader for each kind of piece.

The result depends on the text alone, not on how the stream was divided into deltas.
"""

import re
import sys

from moot.discord.format.boundaries import MARK_CHARACTERS, SENTENCE_CLOSERS, MarkTracker, ends_sentence, find_split
from moot.discord.format.pieces import (
    CodeBlock,
    CodeFence,
    MarkdownPiece,
    MarkdownTable,
    NextReader,
    Prose,
    TextBuffer,
    Transition,
)

MAX_CODE_CHARS = 15_000
LANGUAGE_NAME = re.compile(r"[\w+#.-]{0,30}")
LINE_PREFIX = " \t>"  # characters allowed before a fence
_FENCE_MARK = re.compile(r"[\n`~]")


class CodeReader:
    max_chars = MAX_CODE_CHARS

    def __init__(self, fence: CodeFence) -> None:
        self.buffer = TextBuffer()
        self.find_special = _FENCE_MARK.search
        self._fence = fence
        self._language = fence.language
        self._is_line_blank = fence.language is not None  # this line has only a prefix so far
        self._tick_count = 0  # trailing ticks in the buffer
        self.can_skip = not self._is_line_blank

    def read_char(self, char: str) -> Transition | None:
        if self._tick_count and char != self._fence.tick:
            if self._is_closing_fence(char):
                return Transition(self._build_code_block(self.buffer.length - self._tick_count), "words", char)
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
        """Return True if the ticks before `char` close the block: alone on their line, or at its end."""
        return self._tick_count >= self._fence.tick_count and (
            self._is_line_blank or self._language is None or char.isspace()
        )

    def _finish_line(self) -> None:
        if self._language is None:
            info = self.buffer.whole_text().strip()
            self._language = info if LANGUAGE_NAME.fullmatch(info) else ""
            if info == self._language:
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
SENTENCE_LOOKAHEAD = 200  # extra characters in which a sentence may end
_WIDE_STOPS = "。！？"
_SENTENCE_STOPS = f".!?{_WIDE_STOPS}"
_SPECIAL_CHARACTER = re.compile(rf"[\n`{re.escape(MARK_CHARACTERS)}]")
_SPECIAL_OR_STOP = re.compile(rf"[\n`{re.escape(MARK_CHARACTERS + _SENTENCE_STOPS)}]")
_TAG_START = re.compile(r"[a-zA-Z/@#:!|]")


class ProseReader:
    max_chars = MAX_PROSE_CHARS + SENTENCE_LOOKAHEAD

    def __init__(self, *, sentences: bool, at_line_start: bool) -> None:
        self.buffer = TextBuffer()
        self.find_special = (_SPECIAL_OR_STOP if sentences else _SPECIAL_CHARACTER).search
        self.can_skip = not at_line_start
        self._sentences = sentences
        self._marks = MarkTracker()
        self._is_line_blank = at_line_start  # this line has only white space and quote marks so far
        self._line_start = 0  # index in the buffer
        # What the last character may be, until the next one decides: newline, stop, tag, pipe, run or info.
        # "run" is a run of ticks. "info" is text after ticks within a line that may be a language name.
        self._pending_kind = ""
        self._tick, self._tick_count = "`", 0  # current run of backticks or tildes
        self._info_start = 0  # index after the ticks of "info"
        self._span_tick_count = 0  # ticks that opened the current code span; 0 outside a span

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
            text = text[: -self._tick_count]  # a fence without a code block
        return Prose(text) if text.strip() else None

    def _resolve_pending_char(self, char: str) -> Transition | None:
        """Decide what the last character was, by the next character."""
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
            case "pipe" if char != "|":  # two pipes start a spoiler
                return self._switch_to_table(char)
        return None

    def _observe_char(self, char: str) -> None:
        """Update the parser state for a character, before it is appended to the buffer."""
        if char == "\n":
            self._pending_kind, self._is_line_blank, self._span_tick_count = "newline", True, 0
            self._line_start = self.buffer.length + 1
        elif char == "`" or (char == "~" and self._is_line_blank):
            self._pending_kind, self._tick, self._tick_count = "run", char, 1
        elif self._is_line_blank and char == "|" and not self.buffer.whole_text()[self._line_start :].strip(" \t"):
            self._pending_kind = "pipe"
        elif self._span_tick_count == 0 and char in MARK_CHARACTERS:
            self._marks.track_mark(char, self.buffer.last_char(), self.buffer.length)
            if char == "<":
                self._pending_kind = "tag"
        elif self._span_tick_count == 0 and self._sentences and char in _SENTENCE_STOPS:
            self._pending_kind = "stop"
        self._is_line_blank = self._is_line_blank and (char in LINE_PREFIX or self._pending_kind in {"newline", "run"})

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
        """Decide whether a run of ticks opens or closes a code span, or may open a block."""
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
        """Ticks within a line open a block if only a language name follows on that line, else a span."""
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
        self.find_special = _NEWLINE.search
        self.can_skip = False
        self._rows_end = 0  # index after the last complete row

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
            MarkdownTable(rows) if _TABLE_HEAD.match(rows) else Prose(rows), "line", text[self._rows_end :] + char
        )


# A reader parses one piece, character by character. `read_char` returns a transition when the piece is complete,
# `split_overflow` splits a piece that has reached `max_chars`, and `finish_piece` returns the piece at the end of the
# stream. While `can_skip` is set, text without matches of `find_special` may be appended directly to `buffer`.
PieceReader = CodeReader | ProseReader | TableReader


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
