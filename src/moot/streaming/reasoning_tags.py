"""Taking `<think>` and `<details>` blocks out of streamed text, whatever way the text is cut.

Inside code the tags are only characters. Text is handed on at once, except for a last few characters that may
turn out to begin a tag or a run of backticks, and a tag inside a code span that has not been closed yet.
"""

import re
from itertools import groupby

from msgspec import Struct

REASONING_TAGS = ("think", "details")
MAX_BACKTICK_RUN = 256  # backticks that are waited for; a longer run means nothing
MAX_CODE_SPAN_CHARS = 2000  # characters in which a code span with a tag in it must close
_ATTRIBUTES = r"(?:[ \t][^<>\n`~]{0,40})?"
_TAG = rf"<(/?)(think|details){_ATTRIBUTES}>"
_TAG_OR_TICKS = re.compile(rf"{_TAG}|`+|~{{3,}}", re.IGNORECASE)
_TAG_TICKS_OR_NEWLINE = re.compile(rf"{_TAG}|`+|\n", re.IGNORECASE)
_MARK_START = re.compile(r"[<`~]")
_SPAN_END = re.compile(r"`+|\n")
_TICKS = re.compile(r"`+")
_FENCES = re.compile(r"`{3,}|~{3,}")
_LINE_START = re.compile(r"[\s>]*(?:[-*+]|\d{1,9}[.)])?\s*")
_THINK_END = re.compile(rf"</think{_ATTRIBUTES}>", re.IGNORECASE)
_DETAILS_TAG = re.compile(rf"<(/?)details{_ATTRIBUTES}>", re.IGNORECASE)
_PARTIAL_TAG = re.compile(rf"</?(?:([a-z]*)|(?:think|details){_ATTRIBUTES})$", re.IGNORECASE)
_SUMMARY_TAG = re.compile(r"<(/?)summary\b[^<>]{0,40}>", re.IGNORECASE)
_MARKS = {
    "text": _TAG_OR_TICKS,
    "span": _TAG_TICKS_OR_NEWLINE,
    "fence": _FENCES,
    "think": _THINK_END,
    "details": _DETAILS_TAG,
}


class TextPiece(Struct, frozen=True):
    text: str


class ThoughtPiece(Struct, frozen=True):
    text: str


class TextRetraction(Struct, frozen=True):
    """All that was said so far was thought; it follows as a thought."""


StreamPiece = TextPiece | ThoughtPiece | TextRetraction


class ReasoningTagParser:
    def __init__(self) -> None:
        self._text_parts: list[str] = []
        self._thought_parts: list[str] = []
        self._details_parts: list[str] = []
        self._buffer = ""
        self._leading_whitespace: list[str] = []  # white space before the first word, kept until there is one
        self._state = "text"  # text | span | fence | think | details
        self._code_opening = ""  # the run of backticks or tildes that opened the code
        self._details_depth = 0  # of details within details

    @property
    def text(self) -> str:
        return "".join(self._text_parts)

    @property
    def thoughts(self) -> str:
        return "".join(self._thought_parts)

    @property
    def details(self) -> str:
        return _remove_summaries("".join(self._details_parts)).strip()

    def feed(self, text: str) -> list[StreamPiece]:
        if self._state == "text" and not self._buffer and not _MARK_START.search(text):
            return self._add_text(text)
        pieces: list[StreamPiece] = []
        rest = self._buffer + text
        self._buffer = ""
        while rest:
            rest = self._consume_next(rest, pieces)
        return _merge_pieces(pieces)

    def add_thought(self, text: str) -> list[StreamPiece]:
        """Take in reasoning that the provider has already told apart."""
        self._thought_parts.append(text)
        return [ThoughtPiece(text)]

    def close(self) -> list[StreamPiece]:
        """Release what was held back; a block that was never closed counts as closed here."""
        pieces: list[StreamPiece] = []
        if self._state == "span" and self._code_opening not in _TICKS.findall(self._buffer):
            self._state = "text"  # a span that never closed was none: what was held may hold a tag
            pieces += self.feed(self._take_buffer())
        return _merge_pieces([*pieces, *self._add_content(self._take_buffer())])

    def _take_buffer(self) -> str:
        held, self._buffer = self._buffer, ""
        return held

    def _consume_next(self, rest: str, pieces: list[StreamPiece]) -> str:
        """Consume up to the next mark that matters here, or all but what may be half of one."""
        mark = _MARKS[self._state].search(rest)
        if mark is None or (
            mark.end() == len(rest) and mark[0][0] in "`~" and len(mark[0]) <= MAX_BACKTICK_RUN
        ):
            half = self._partial_mark_start(rest)
            pieces += self._add_content(rest[:half])
            self._buffer = rest[half:]
            return ""
        pieces += self._add_content(rest[: mark.start()])
        if self._state == "span" and mark[0][0] == "<":
            return self._handle_tag_in_span(rest[mark.start() :], pieces)
        pieces += self._handle_mark(mark)
        return rest[mark.end() :]

    def _partial_mark_start(self, rest: str) -> int:
        """Return where the part begins that more text could turn into a mark."""
        words = rest.rstrip(rest[-1]) if rest[-1] in "`~" else rest
        if self._state in {"text", "span", "fence"} and 0 < len(rest) - len(words) <= MAX_BACKTICK_RUN:
            return len(words)
        half = _PARTIAL_TAG.search(rest) if self._state != "fence" else None
        if half and any(tag.startswith((half[1] or "").lower()) for tag in REASONING_TAGS):
            return half.start()
        return len(rest)

    def _handle_tag_in_span(self, rest: str, pieces: list[StreamPiece]) -> str:
        """Pass a tag inside a span: only characters if the span closes on its line, else a tag after all."""
        known = min(len(rest), MAX_CODE_SPAN_CHARS)
        for end in _SPAN_END.finditer(rest, 0, MAX_CODE_SPAN_CHARS):
            if end[0] == "\n":
                self._state = "text"
                return rest
            if end[0] == self._code_opening and end.end() < known:
                pieces += self._add_text(rest[: end.end()])
                self._state = "text"
                return rest[end.end() :]
        if len(rest) >= MAX_CODE_SPAN_CHARS:
            self._state = "text"
            return rest
        self._buffer = rest
        return ""

    def _handle_mark(self, mark: re.Match[str]) -> list[StreamPiece]:
        """Pass a mark: change what we are inside of, and keep the mark where it is only characters."""
        match self._state:
            case "think":
                self._state = "text"
                return []
            case "details":
                self._details_depth += -1 if mark[1] else 1
                if self._details_depth == 0:
                    self._state = "text"
                    return []
                return self._add_content(mark[0])
            case "span":
                if mark[0] in {"\n", self._code_opening}:
                    self._state = "text"
                return self._add_text(mark[0])
            case "fence":
                if mark[0].startswith(self._code_opening) and self._is_at_line_start():
                    self._state = "text"
                return self._add_text(mark[0])
        return self._handle_tag(mark) if mark[0][0] == "<" else self._open_code(mark)

    def _open_code(self, mark: re.Match[str]) -> list[StreamPiece]:
        self._code_opening = mark[0]
        if len(mark[0]) >= 3 and self._is_at_line_start():
            self._state = "fence"
        elif mark[0][0] == "`":
            self._state = "span"
        return self._add_text(mark[0])

    def _handle_tag(self, mark: re.Match[str]) -> list[StreamPiece]:
        match bool(mark[1]), mark[2].lower():
            case False, "think":
                self._state = "think"
            case False, _:
                self._state, self._details_depth = "details", 1
                if self._details_parts:
                    self._details_parts.append("\n\n")
            case True, "think":
                return self._retract_text()
            case _:
                return self._add_text(mark[0])
        return []

    def _is_at_line_start(self) -> bool:
        """Tell whether nothing but white space, quote marks and a list's mark was said on this line."""
        line = "".join(self._leading_whitespace)
        for piece in reversed(self._text_parts):
            _, newline, end = piece.rpartition("\n")
            line = end + line
            if newline or len(line) > MAX_BACKTICK_RUN:
                break
        return _LINE_START.fullmatch(line) is not None

    def _retract_text(self) -> list[StreamPiece]:
        said = self.text
        self._text_parts.clear()
        self._leading_whitespace.clear()
        return [TextRetraction(), *self.add_thought(said)] if said else []

    def _add_content(self, text: str) -> list[StreamPiece]:
        if not text:
            return []
        match self._state:
            case "think":
                return self.add_thought(text)
            case "details":
                self._details_parts.append(text)
                return []
        return self._add_text(text)

    def _add_text(self, text: str) -> list[StreamPiece]:
        if not self._text_parts:
            self._leading_whitespace.append(text)
            if not text.strip():
                return []
            text = "".join(self._leading_whitespace).lstrip("\r\n")  # what a think block leaves behind
            self._leading_whitespace.clear()
        self._text_parts.append(text)
        return [TextPiece(text)]


def _merge_pieces(pieces: list[StreamPiece]) -> list[StreamPiece]:
    """Put neighbours of one kind together: a mark that was only characters parts no text."""
    joined: list[StreamPiece] = []
    for kind, run in groupby(pieces, type):
        if kind is TextRetraction:
            joined += run
        else:
            joined.append(
                kind("".join([piece.text for piece in run if not isinstance(piece, TextRetraction)]))
            )
    return joined


def _remove_summaries(details: str) -> str:
    """Drop what stands between `<summary>` and `</summary>`, in one pass."""
    kept: list[str] = []
    place, inside = 0, False
    for tag in _SUMMARY_TAG.finditer(details):
        if not inside:
            kept.append(details[place : tag.start()])
        inside, place = not tag[1], tag.end()
    return "".join([*kept, "" if inside else details[place:]])
