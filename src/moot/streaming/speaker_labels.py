"""Finds speaker labels such as `Name:` in a stream and removes them."""

import re
from collections.abc import Collection

from msgspec import Struct

_LABEL_OPENING, _LABEL_CLOSING = r"[*_]{0,3}[\[<]?[*_]{0,3}@?", r"[*_]{0,3}[\]>]?[*_]{0,3}"
_BLANK = r"[ \t]{0,8}"


class SpeakerLabels:
    """The labels of these speakers, however they are dressed up."""

    def __init__(self, names: Collection[str]) -> None:
        longest_first = sorted(filter(None, names), key=len, reverse=True)
        either = "|".join(re.escape(name) for name in longest_first) or r"(?!)"
        label = (
            rf"{_BLANK}{_LABEL_OPENING}({either}){_LABEL_CLOSING}{_BLANK}[:\uff1a][*_]{{0,3}}(?!//){_BLANK}"
        )
        self._leading_label = re.compile(rf"\s*{label}", re.IGNORECASE)
        self._later_label = re.compile(rf"\n{label}", re.IGNORECASE)

    def leading_name(self, text: str) -> str | None:
        """Return the name whose label this text begins with."""
        found = self._leading_label.match(text)
        return found[1] if found else None

    def strip_label(self, text: str) -> str:
        """Return the text without a label at its start."""
        return self._leading_label.sub("", text, count=1) if self._leading_label.match(text) else text

    def text_before_later_label(self, text: str) -> str | None:
        """Return what comes before a line, other than the first, that begins with a label; None without one."""
        found = self._later_label.search(text)
        return text[: found.start() + 1] if found else None


MAX_BUFFERED_CHARS = 400  # characters that may wait
_CHARS_BEFORE_NAME, _CHARS_AFTER_NAME = frozenset("*_[<@"), frozenset("*_]> \t:\uff1a")
_MAX_CHARS_BEFORE_NAME = 8  # characters that may stand before a name


class SpeakerNames(Struct, frozen=True):
    """Who speaks, and who else could."""

    own: str
    others: Collection[str] = ()


class SpeakerLabelFilter:
    """Takes the text of one answer, cut in any way. With `strict`, somebody else's label makes it `foreign`."""

    def __init__(self, names: SpeakerNames, *, strict: bool) -> None:
        everybody = [name for name in (names.own, *names.others) if name]
        self._own_name = names.own.casefold()
        self._names = {name.casefold() for name in everybody}
        self._labels = SpeakerLabels(everybody)
        self._strict = strict
        self._buffer = ""
        self._label_decided = False
        self._released_parts: list[str] = []
        self.impersonated: str | None = None  # whose label it began with: nothing of it is told

    @property
    def text(self) -> str:
        """All that was told."""
        return "".join(self._released_parts)

    def feed(self, text: str) -> str:
        """Return what may be told now."""
        place = 0
        while not self._label_decided and place < len(text):
            self._buffer += text[place]
            self._check_labels(is_final=False)
            place += 1
        return self._release_text(text[place:]) if self._label_decided else ""

    def close(self) -> str:
        """Return what is still held: nothing comes after it."""
        if not self._label_decided:
            self._check_labels(is_final=True)
            self._label_decided = True
        return self._release_text("")

    def reset_filter(self) -> None:
        """Begin anew: what came until now was no answer."""
        self._buffer, self._label_decided, self.impersonated = "", False, None
        self._released_parts.clear()

    def _release_text(self, more: str) -> str:
        told = "" if self.impersonated else self._buffer + more
        self._buffer = ""
        self._released_parts.append(told)
        return told

    def _check_labels(self, *, is_final: bool) -> None:
        """Take labels off what is held, and find out whether what is left may still become one."""
        while (name := self._labels.leading_name(self._buffer)) is not None:
            rest = self._labels.strip_label(self._buffer).lstrip()
            if not is_final and rest in {"", "/"}:  # more of the label may follow, or it is an address
                break
            if self._strict and name.casefold() != self._own_name:
                self.impersonated, self._label_decided = name, True
                return
            self._buffer = rest
        self._label_decided = len(self._buffer) > MAX_BUFFERED_CHARS or not self._may_become_label()

    def _may_become_label(self) -> bool:
        text = self._buffer.lstrip().casefold()
        for start in range(min(len(text), _MAX_CHARS_BEFORE_NAME) + 1):
            if start and text[start - 1] not in _CHARS_BEFORE_NAME:
                return False
            if any(_is_name_prefix(text[start:], name) for name in self._names):
                return True
        return False


def _is_name_prefix(text: str, name: str) -> bool:
    """Tell whether a text is the beginning of a name, or a name with nothing but marks after it."""
    return name.startswith(text) or (
        text.startswith(name) and _CHARS_AFTER_NAME.issuperset(text.removeprefix(name).rstrip("/\n"))
    )
