"""Cleans text before it is posted: speaker labels, prefill, casual style."""

import re
from collections.abc import Collection

from moot.discord.format.boundaries import outside
from moot.discord.format.mentions import Mentions, Room
from moot.discord.format.pieces import Code, Piece, Prose
from moot.streaming.speaker_labels import Labels

_KEPT = re.compile(
    r"(?:\w{2,12}://|www\.)\S*[^\s.,;:!?)]|<[^<>\s]{1,80}>|(?<![\w.+-])[\w.+-]{1,64}@[\w.-]{1,64}"
)
_WORD = re.compile(r"[^\W\d_](?:[\w'’.-]*\w)?")
_COMMA = re.compile(r"[,;](?=\s|\Z)")
_TIGHT_COMMA = re.compile(r"(?<=[^\W\d_])[,;](?=[^\W\d_])|[\uff0c\uff1b]")


class Humanizer:
    """Keeps acronyms, code, addresses and these names as they are."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(word for name in names for word in _WORD.findall(name))

    def humanized(self, text: str) -> str:
        return outside(self._humanized, text)

    def _humanized(self, text: str) -> str:
        told, place = [], 0
        for kept in _KEPT.finditer(text):
            told += [self._loosened(text[place : kept.start()]), kept[0]]
            place = kept.end()
        return "".join([*told, self._loosened(text[place:])])

    def _loosened(self, text: str) -> str:
        return _WORD.sub(self._lowered, _TIGHT_COMMA.sub(" ", _COMMA.sub("", text)))

    def _lowered(self, found: re.Match[str]) -> str:
        word = found[0]
        kept = word in self._names or word[1:] != word[1:].lower()
        return word if kept else word.lower()


class Prefill:
    """Takes the echo off the start of an answer, once, also where it comes in several pieces."""

    def __init__(self, text: str) -> None:
        self._awaited = text.strip()
        self._taken = ""  # so far; given back if the echo does not go on

    def without(self, text: str) -> str:
        said = text.strip()
        if not self._awaited or not said:
            return text
        if said.startswith(self._awaited):
            echo = len(text) - len(text.lstrip()) + len(self._awaited)
            self._awaited = self._taken = ""
            return text[echo:]
        if self._awaited.startswith(said):
            self._taken += text
            self._awaited = self._awaited[len(said) :].lstrip()
            return ""
        return self.rest() + text

    def rest(self) -> str:
        """Give back what was taken of an echo that is not whole; nothing is awaited any more."""
        taken, self._taken, self._awaited = self._taken, "", ""
        return taken


LONGEST_HELD = 1000  # characters of punctuation that may wait for words
_WORDY = re.compile("[^\\W_]|[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]")
# Emoji; not the stars, circles and squares that scores and bars are made of.
_PICTURE = "[\U0001f000-\U0001f1e5\U0001f200-\U0001f7df\U0001f7ec-\U0001faff]"
_SIGN = (
    "[\u2614\u2615\u2648-\u2653\u267f\u2693\u26a1\u26bd\u26be\u26c4\u26c5\u26ce\u26d4\u26ea\u26f2\u26f3\u26f5\u26fa"
    "\u26fd\u2705\u270a\u270b\u2728\u274c\u274e\u2753-\u2755\u2757\u2795-\u2797\u27b0\u27bf\u2b50\u2b55]"
)
_BASE = f"(?:{_PICTURE}|{_SIGN}|[\u2600-\u27bf\u2b00-\u2bff](?=\ufe0f))[\ufe0f\U0001f3fb-\U0001f3ff]?"
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
        self._newlines = ""  # that the last piece ended with
        self._cut = False

    def clean(self, piece: Piece) -> list[Piece]:
        if self._cut:
            return []
        if isinstance(piece, Code):
            return self._before_code(piece)
        text, self._held = self._held + piece.text, ""
        if len(text) < LONGEST_HELD and not _WORDY.search(piece.text):
            self._held = text
            return []
        tidied = self._spaced(outside(_untagged, self._unlabelled(text)))
        shown = self._guarded(self._prefill.without(self._mentions.resolved(tidied)))
        if not shown.strip():
            return []
        self._newlines = shown[len(shown.rstrip("\n")) :]
        return [type(piece)(shown)]

    def rest(self) -> list[Piece]:
        """Give out what is still held: nothing comes after it."""
        text = self._prefill.rest() + self._taken_held()
        self._newlines = "\n"  # what comes later begins a line
        return [Prose(text)] if text.strip() else []

    def _before_code(self, code: Code) -> list[Piece]:
        self._begun = True
        self._newlines = ""
        echo = self._prefill.rest()
        whole = Code(code.language, code.text, lead=self._taken_held().strip())
        return [Prose(echo), whole] if echo else [whole]

    def _taken_held(self) -> str:
        held, self._held = self._held, ""
        return self._mentions.resolved(held)

    def _unlabelled(self, text: str) -> str:
        text = self._own.stripped(text)
        if not self._begun and text.strip():
            self._begun = True
            text = self._others.stripped(text)
        return text

    def _spaced(self, text: str) -> str:
        """Leave one blank line where there are more, also between the last piece and this one."""
        return _NEWLINES.sub("\n\n", self._newlines + text).removeprefix(self._newlines)

    def _guarded(self, text: str) -> str:
        """Cut the answer off where it goes on with somebody else's words."""
        if not self._guard:
            return text
        begins = self._newlines[:1]
        before = self._others.before_later(begins + text)
        if before is None:
            return text
        self._cut = True
        return before.removeprefix(begins)


def _untagged(text: str) -> str:
    return _STRAY_TAG.sub("", _SYSTEM.sub("", _REPEATED_EMOJI.sub(r"\1", text)))
