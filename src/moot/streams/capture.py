"""Taking `<think>` and `<details>` blocks out of streamed text, whatever way the text is cut.

Inside code the tags are only characters. Text is handed on at once, except for a last few characters that may
turn out to begin a tag or a run of backticks.
"""

import re
from itertools import groupby

from msgspec import Struct

TAGS = ("think", "details")
_ATTRIBUTES = r"(?:\s[^<>\n]{0,40})?"
_TAG_OR_TICKS = re.compile(rf"<(/?)(think|details){_ATTRIBUTES}>|`+", re.IGNORECASE)
_THINK_END = re.compile(rf"</think{_ATTRIBUTES}>", re.IGNORECASE)
_DETAILS_TAG = re.compile(rf"<(/?)details{_ATTRIBUTES}>", re.IGNORECASE)
_HALF_TAG = re.compile(rf"</?(?:([a-z]*)|(?:think|details){_ATTRIBUTES})$", re.IGNORECASE)
_HALF_TICKS = re.compile(r"`+$")
_SUMMARY = re.compile(r"<summary\b[^>]*>.*?</summary>", re.IGNORECASE | re.DOTALL)


class Said(Struct, frozen=True):
    text: str


class Thought(Struct, frozen=True):
    text: str


class Retracted(Struct, frozen=True):
    """All that was said so far was thought; it follows as a thought."""


Piece = Said | Thought | Retracted


class Capture:
    def __init__(self) -> None:
        self._said: list[str] = []
        self._thoughts: list[str] = []
        self._details: list[str] = []
        self._held = ""
        self._inside = "text"  # text | code | think | details
        self._ticks = 0  # the run of backticks that opened the code
        self._depth = 0  # of details within details

    @property
    def text(self) -> str:
        return "".join(self._said)

    @property
    def thoughts(self) -> str:
        return "".join(self._thoughts)

    @property
    def details(self) -> str:
        return _SUMMARY.sub("", "".join(self._details)).strip()

    def feed(self, text: str) -> list[Piece]:
        if self._inside == "text" and not self._held and "<" not in text and "`" not in text:
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
        return [Thought(text)]

    def close(self) -> list[Piece]:
        """Release what was held back; a block that was never closed counts as closed here."""
        held, self._held = self._held, ""
        return self._add(held) if held else []

    def _step(self, rest: str, pieces: list[Piece]) -> str:
        """Consume up to the next mark that matters here, or all but what may be half of one."""
        match self._inside:
            case "think":
                mark = _THINK_END.search(rest)
            case "details":
                mark = _DETAILS_TAG.search(rest)
            case "code":
                mark = re.search(r"`+|\n" if self._ticks < 3 else r"`+", rest)
            case _:
                mark = _TAG_OR_TICKS.search(rest)
        if mark is None or (mark[0][0] == "`" and mark.end() == len(rest)):
            half = self._half(rest)
            pieces += self._add(rest[:half])
            self._held = rest[half:]
            return ""
        pieces += self._add(rest[: mark.start()])
        pieces += self._cross(mark)
        return rest[mark.end() :]

    def _half(self, rest: str) -> int:
        """Return where the part begins that more text could turn into a mark."""
        if self._inside in {"text", "code"} and (ticks := _HALF_TICKS.search(rest)):
            return ticks.start()
        half = _HALF_TAG.search(rest) if self._inside != "code" else None
        if half and any(tag.startswith((half[1] or "").lower()) for tag in TAGS):
            return half.start()
        return len(rest)

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
            case "code":
                if mark[0] == "\n" or self._closes_code(len(mark[0])):
                    self._inside = "text"
                return self._say(mark[0])
        if mark[0][0] == "`":
            self._inside, self._ticks = "code", len(mark[0])
            return self._say(mark[0])
        return self._cross_tag(mark)

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

    def _closes_code(self, ticks: int) -> bool:
        return ticks >= self._ticks if self._ticks >= 3 else ticks == self._ticks

    def _retract(self) -> list[Piece]:
        said = self.text
        self._said.clear()
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
            text = text.lstrip("\r\n")  # what a think block leaves behind
        if not text:
            return []
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
