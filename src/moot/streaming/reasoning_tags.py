"""Taking `<think>` and `<details>` blocks out of streamed text, whatever way the text is cut.

Inside code the tags are only characters. Text is handed on at once, except for a last few characters that may
turn out to begin a tag or a run of backticks, and a tag inside a code span that has not been closed yet.
"""

import re
from itertools import groupby

from msgspec import Struct

TAGS = ("think", "details")
LONGEST_RUN = 256  # backticks that are waited for; a longer run means nothing
LONGEST_SPAN = 2000  # characters in which a code span with a tag in it must close
_ATTRIBUTES = r"(?:[ \t][^<>\n`~]{0,40})?"
_TAG = rf"<(/?)(think|details){_ATTRIBUTES}>"
_TAG_OR_TICKS = re.compile(rf"{_TAG}|`+|~{{3,}}", re.IGNORECASE)
_IN_SPAN = re.compile(rf"{_TAG}|`+|\n", re.IGNORECASE)
_MARKING = re.compile(r"[<`~]")
_SPAN_END = re.compile(r"`+|\n")
_TICKS = re.compile(r"`+")
_FENCES = re.compile(r"`{3,}|~{3,}")
_LINE_START = re.compile(r"[\s>]*(?:[-*+]|\d{1,9}[.)])?\s*")
_THINK_END = re.compile(rf"</think{_ATTRIBUTES}>", re.IGNORECASE)
_DETAILS_TAG = re.compile(rf"<(/?)details{_ATTRIBUTES}>", re.IGNORECASE)
_HALF_TAG = re.compile(rf"</?(?:([a-z]*)|(?:think|details){_ATTRIBUTES})$", re.IGNORECASE)
_SUMMARY_TAG = re.compile(r"<(/?)summary\b[^<>]{0,40}>", re.IGNORECASE)
_MARKS = {
    "text": _TAG_OR_TICKS,
    "span": _IN_SPAN,
    "fence": _FENCES,
    "think": _THINK_END,
    "details": _DETAILS_TAG,
}


class Said(Struct, frozen=True):
    text: str


class Thinking(Struct, frozen=True):
    text: str


class Retracted(Struct, frozen=True):
    """All that was said so far was thought; it follows as a thought."""


Piece = Said | Thinking | Retracted


class Capture:
    def __init__(self) -> None:
        self._said: list[str] = []
        self._thoughts: list[str] = []
        self._details: list[str] = []
        self._held = ""
        self._lead: list[str] = []  # white space before the first word, kept until there is one
        self._inside = "text"  # text | span | fence | think | details
        self._opening = ""  # the run of backticks or tildes that opened the code
        self._depth = 0  # of details within details

    @property
    def text(self) -> str:
        return "".join(self._said)

    @property
    def thoughts(self) -> str:
        return "".join(self._thoughts)

    @property
    def details(self) -> str:
        return _without_summaries("".join(self._details)).strip()

    def feed(self, text: str) -> list[Piece]:
        if self._inside == "text" and not self._held and not _MARKING.search(text):
            return self._say(text)
        pieces: list[Piece] = []
        rest = self._held + text
        self._held = ""
        while rest:
            rest = self._step(rest, pieces)
        return _joined(pieces)

    def think(self, text: str) -> list[Piece]:
        """Take in reasoning that the provider has already told apart."""
        self._thoughts.append(text)
        return [Thinking(text)]

    def close(self) -> list[Piece]:
        """Release what was held back; a block that was never closed counts as closed here."""
        pieces: list[Piece] = []
        if self._inside == "span" and self._opening not in _TICKS.findall(self._held):
            self._inside = "text"  # a span that never closed was none: what was held may hold a tag
            pieces += self.feed(self._take_held())
        return _joined([*pieces, *self._add(self._take_held())])

    def _take_held(self) -> str:
        held, self._held = self._held, ""
        return held

    def _step(self, rest: str, pieces: list[Piece]) -> str:
        """Consume up to the next mark that matters here, or all but what may be half of one."""
        mark = _MARKS[self._inside].search(rest)
        if mark is None or (mark.end() == len(rest) and mark[0][0] in "`~" and len(mark[0]) <= LONGEST_RUN):
            half = self._half(rest)
            pieces += self._add(rest[:half])
            self._held = rest[half:]
            return ""
        pieces += self._add(rest[: mark.start()])
        if self._inside == "span" and mark[0][0] == "<":
            return self._tag_in_span(rest[mark.start() :], pieces)
        pieces += self._cross(mark)
        return rest[mark.end() :]

    def _half(self, rest: str) -> int:
        """Return where the part begins that more text could turn into a mark."""
        words = rest.rstrip(rest[-1]) if rest[-1] in "`~" else rest
        if self._inside in {"text", "span", "fence"} and 0 < len(rest) - len(words) <= LONGEST_RUN:
            return len(words)
        half = _HALF_TAG.search(rest) if self._inside != "fence" else None
        if half and any(tag.startswith((half[1] or "").lower()) for tag in TAGS):
            return half.start()
        return len(rest)

    def _tag_in_span(self, rest: str, pieces: list[Piece]) -> str:
        """Pass a tag inside a span: only characters if the span closes on its line, else a tag after all."""
        known = min(len(rest), LONGEST_SPAN)
        for end in _SPAN_END.finditer(rest, 0, LONGEST_SPAN):
            if end[0] == "\n":
                self._inside = "text"
                return rest
            if end[0] == self._opening and end.end() < known:
                pieces += self._say(rest[: end.end()])
                self._inside = "text"
                return rest[end.end() :]
        if len(rest) >= LONGEST_SPAN:
            self._inside = "text"
            return rest
        self._held = rest
        return ""

    def _cross(self, mark: re.Match[str]) -> list[Piece]:
        """Pass a mark: change what we are inside of, and keep the mark where it is only characters."""
        match self._inside:
            case "think":
                self._inside = "text"
                return []
            case "details":
                self._depth += -1 if mark[1] else 1
                if self._depth == 0:
                    self._inside = "text"
                    return []
                return self._add(mark[0])
            case "span":
                if mark[0] in {"\n", self._opening}:
                    self._inside = "text"
                return self._say(mark[0])
            case "fence":
                if mark[0].startswith(self._opening) and self._at_line_start():
                    self._inside = "text"
                return self._say(mark[0])
        return self._cross_tag(mark) if mark[0][0] == "<" else self._open_code(mark)

    def _open_code(self, mark: re.Match[str]) -> list[Piece]:
        self._opening = mark[0]
        if len(mark[0]) >= 3 and self._at_line_start():
            self._inside = "fence"
        elif mark[0][0] == "`":
            self._inside = "span"
        return self._say(mark[0])

    def _cross_tag(self, mark: re.Match[str]) -> list[Piece]:
        match bool(mark[1]), mark[2].lower():
            case False, "think":
                self._inside = "think"
            case False, _:
                self._inside, self._depth = "details", 1
                if self._details:
                    self._details.append("\n\n")
            case True, "think":
                return self._retract()
            case _:
                return self._say(mark[0])
        return []

    def _at_line_start(self) -> bool:
        """Tell whether nothing but white space, quote marks and a list's mark was said on this line."""
        line = "".join(self._lead)
        for piece in reversed(self._said):
            _, newline, end = piece.rpartition("\n")
            line = end + line
            if newline or len(line) > LONGEST_RUN:
                break
        return _LINE_START.fullmatch(line) is not None

    def _retract(self) -> list[Piece]:
        said = self.text
        self._said.clear()
        self._lead.clear()
        return [Retracted(), *self.think(said)] if said else []

    def _add(self, text: str) -> list[Piece]:
        if not text:
            return []
        match self._inside:
            case "think":
                return self.think(text)
            case "details":
                self._details.append(text)
                return []
        return self._say(text)

    def _say(self, text: str) -> list[Piece]:
        if not self._said:
            self._lead.append(text)
            if not text.strip():
                return []
            text = "".join(self._lead).lstrip("\r\n")  # what a think block leaves behind
            self._lead.clear()
        self._said.append(text)
        return [Said(text)]


def _joined(pieces: list[Piece]) -> list[Piece]:
    """Put neighbours of one kind together: a mark that was only characters parts no text."""
    joined: list[Piece] = []
    for kind, run in groupby(pieces, type):
        if kind is Retracted:
            joined += run
        else:
            joined.append(kind("".join([piece.text for piece in run if not isinstance(piece, Retracted)])))
    return joined


def _without_summaries(details: str) -> str:
    """Drop what stands between `<summary>` and `</summary>`, in one pass."""
    kept: list[str] = []
    place, inside = 0, False
    for tag in _SUMMARY_TAG.finditer(details):
        if not inside:
            kept.append(details[place : tag.start()])
        inside, place = not tag[1], tag.end()
    return "".join([*kept, "" if inside else details[place:]])
