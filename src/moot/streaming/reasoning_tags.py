"""Parser that extracts `<think>` and `<details>` blocks from streamed text, in chunks of any size.

Tags inside Markdown code are plain text. The parser releases text immediately, with two exceptions.
It buffers the start of a possible tag or backtick run, and a tag inside an unclosed code span.
"""

import re
from itertools import groupby

from msgspec import Struct

REASONING_TAGS = ("think", "details")
MAX_BACKTICK_RUN = 256  # a longer run is plain text and is not buffered
MAX_CODE_SPAN_CHARS = 2000  # limit of the buffer for a code span with a tag
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
    """All text so far was reasoning. A ThoughtPiece with the same text follows."""


StreamPiece = TextPiece | ThoughtPiece | TextRetraction


class ReasoningTagParser:
    """Each method returns the new pieces. `text`, `thoughts` and `details` hold the full result so far."""

    def __init__(self) -> None:
        self._text_parts: list[str] = []
        self._thought_parts: list[str] = []
        self._details_parts: list[str] = []
        self._buffer = ""
        self._leading_whitespace: list[str] = []  # buffer for whitespace before the first word
        self._state = "text"  # text | span | fence | think | details
        self._code_opening = ""  # the backticks or tildes that opened the code
        self._details_depth = 0  # nested <details>

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
        """Add reasoning that the provider sends in a separate field."""
        self._thought_parts.append(text)
        return [ThoughtPiece(text)]

    def close(self) -> list[StreamPiece]:
        """Flush the buffer at the end of the stream. An unclosed block counts as closed."""
        pieces: list[StreamPiece] = []
        if self._state == "span" and self._code_opening not in _TICKS.findall(self._buffer):
            self._state = "text"  # an unclosed span is not code, so a tag in the buffer counts
            pieces += self.feed(self._take_buffer())
        return _merge_pieces([*pieces, *self._add_content(self._take_buffer())])

    def _take_buffer(self) -> str:
        buffered, self._buffer = self._buffer, ""
        return buffered

    def _consume_next(self, rest: str, pieces: list[StreamPiece]) -> str:
        """Consume text up to and including the next mark, and return the rest.

        Without a mark, buffer the end of the text that may be an incomplete mark.
        """
        mark = _MARKS[self._state].search(rest)
        if mark is None or (mark.end() == len(rest) and mark[0][0] in "`~" and len(mark[0]) <= MAX_BACKTICK_RUN):
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
        """Return the index of an incomplete mark at the end, or the length if there is none."""
        words = rest.rstrip(rest[-1]) if rest[-1] in "`~" else rest
        if self._state in {"text", "span", "fence"} and 0 < len(rest) - len(words) <= MAX_BACKTICK_RUN:
            return len(words)
        half = _PARTIAL_TAG.search(rest) if self._state != "fence" else None
        if half and any(tag.startswith((half[1] or "").lower()) for tag in REASONING_TAGS):
            return half.start()
        return len(rest)

    def _handle_tag_in_span(self, rest: str, pieces: list[StreamPiece]) -> str:
        """The tag is plain text if the span closes on the same line. If not, the span is not code."""
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
        """Update the state, and return the mark as content where it is plain text."""
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
                # Some models omit the opening tag, so all text before the closing tag is reasoning.
                return self._retract_text()
            case _:
                return self._add_text(mark[0])
        return []

    def _is_at_line_start(self) -> bool:
        """True if the line has only whitespace, quote marks and a list marker so far: a fence may open here."""
        line = "".join(self._leading_whitespace)
        for piece in reversed(self._text_parts):
            _, newline, end = piece.rpartition("\n")
            line = end + line
            if newline or len(line) > MAX_BACKTICK_RUN:
                break
        return _LINE_START.fullmatch(line) is not None

    def _retract_text(self) -> list[StreamPiece]:
        retracted = self.text
        self._text_parts.clear()
        self._leading_whitespace.clear()
        return [TextRetraction(), *self.add_thought(retracted)] if retracted else []

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
            text = "".join(self._leading_whitespace).lstrip("\r\n")  # a think block leaves newlines behind
            self._leading_whitespace.clear()
        self._text_parts.append(text)
        return [TextPiece(text)]


def _merge_pieces(pieces: list[StreamPiece]) -> list[StreamPiece]:
    """Merge adjacent pieces of the same type, so that a plain-text mark causes no extra event."""
    joined: list[StreamPiece] = []
    for kind, run in groupby(pieces, type):
        if kind is TextRetraction:
            joined += run
        else:
            joined.append(kind("".join([piece.text for piece in run if not isinstance(piece, TextRetraction)])))
    return joined


def _remove_summaries(details: str) -> str:
    """Remove each `<summary>` element. One pass, because a regex for pairs can be quadratic."""
    kept: list[str] = []
    position, inside = 0, False
    for tag in _SUMMARY_TAG.finditer(details):
        if not inside:
            kept.append(details[position : tag.start()])
        inside, position = not tag[1], tag.end()
    return "".join([*kept, "" if inside else details[position:]])
