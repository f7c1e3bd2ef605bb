"""What is taken off a piece of an answer before it is shown, in the order in which the rules are applied."""

import re

from moot.channels.discord.labels import Labels
from moot.channels.discord.mentions import Mentions
from moot.channels.discord.prefill import Prefill
from moot.channels.discord.room import Room
from moot.channels.discord.segments import Code, Piece, Prose, Table
from moot.channels.discord.spans import outside

LONGEST_HELD = 1000  # characters of punctuation that may wait for words
_WORDY = re.compile("[^\\W_]|[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]")
_BASE = (
    "(?:[\U0001f000-\U0001f1e5\U0001f200-\U0001faff\u2600-\u27bf\u2b00-\u2bff][\ufe0f\U0001f3fb-\U0001f3ff]?)"
)
_EMOJI = f"{_BASE}(?:\u200d{_BASE})*|[\U0001f1e6-\U0001f1ff]{{2}}|<a?:\\w{{2,32}}:\\d{{1,20}}>"
_REPEATED_EMOJI = re.compile(rf"({_EMOJI})(?:[ \t]{{0,3}}\1)+")
_SYSTEM = re.compile(r"\[\s?system(?: [a-z]{1,20})?\s?:[^\[\]]*\]", re.IGNORECASE)
_STRAY_TAG = re.compile(
    r"</?(?:think|thinking|thought|reasoning|details|summary|system|assistant|user|human|message|response|answer|output|s)"
    r"(?:[ \t][^<>\n]{0,40})?/?>|<\|[^<>|\n]{0,40}\|>",
    re.IGNORECASE,
)
_NEWLINES = re.compile(r"\n(?:[ \t]*\n){2,}")


class Cleaner:
    """Cleans the pieces of one answer. What it drops is gone; what it holds comes with the next piece."""

    def __init__(self, room: Room, *, prefill: str, guard: bool) -> None:
        self._own = Labels([room.speaker])
        self._others = Labels([name for name in room.others if name.lower() != room.speaker.lower()])
        self._mentions = Mentions(room.members)
        self._prefill = Prefill(self._mentions.resolved(prefill))
        self._guard = guard
        self._held = ""  # punctuation that waits for words
        self._begun = False
        self._line_begins = False  # with the next piece
        self._cut = False
        self.foreign: str | None = None  # whose label the answer began with

    def clean(self, piece: Piece) -> list[Piece]:
        if self._cut:
            return []
        if isinstance(piece, Code):
            return self._before_code(piece)
        text = self._held + piece.text
        self._held = ""
        if not _WORDY.search(text) and len(text) < LONGEST_HELD:
            self._held = text
            return []
        cleaned = self._mentions.resolved(_tidied(self._unlabelled(text)))
        shown = self._guarded(self._prefill.without(cleaned))
        self._line_begins = piece.text.endswith("\n")
        return _unless_blank(type(piece)(shown))

    def rest(self) -> list[Piece]:
        """Give out what is still held: nothing comes after it."""
        text = self._prefill.rest() + self._mentions.resolved(self._held)
        self._held = ""
        return _unless_blank(Prose(text))

    def _before_code(self, code: Code) -> list[Piece]:
        held, self._held = self._held, ""
        self._begun = True
        self._line_begins = False
        return [
            *_unless_blank(Prose(self._prefill.rest())),
            Code(code.language, code.text, lead=held.strip()),
        ]

    def _unlabelled(self, text: str) -> str:
        text = self._own.stripped(text)
        if not self._begun and text.strip():
            self._begun = True
            self.foreign = self._others.leading(text)
            text = self._others.stripped(text)
        return text

    def _guarded(self, text: str) -> str:
        """Cut the answer off where it goes on with somebody else's words."""
        if not self._guard:
            return text
        begins = "\n" if self._line_begins else ""
        before = self._others.before_later(begins + text)
        if before is None:
            return text
        self._cut = True
        return before.removeprefix(begins)


def _tidied(text: str) -> str:
    return _NEWLINES.sub("\n\n", outside(_untagged, text))


def _untagged(text: str) -> str:
    return _STRAY_TAG.sub("", _SYSTEM.sub("", _REPEATED_EMOJI.sub(r"\1", text)))


def _unless_blank(piece: Prose | Table) -> list[Piece]:
    return [piece] if piece.text.strip() else []
