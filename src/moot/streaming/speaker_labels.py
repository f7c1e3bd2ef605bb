"""Finds speaker labels such as `Name:` in a stream and removes them."""

import re
from collections.abc import Collection

from msgspec import Struct

_OPENING, _CLOSING = r"[*_]{0,3}[\[<]?[*_]{0,3}@?", r"[*_]{0,3}[\]>]?[*_]{0,3}"
_BLANK = r"[ \t]{0,8}"


class Labels:
    """The labels of these speakers, however they are dressed up."""

    def __init__(self, names: Collection[str]) -> None:
        longest_first = sorted(filter(None, names), key=len, reverse=True)
        either = "|".join(re.escape(name) for name in longest_first) or r"(?!)"
        label = rf"{_BLANK}{_OPENING}({either}){_CLOSING}{_BLANK}[:\uff1a][*_]{{0,3}}(?!//){_BLANK}"
        self._leading = re.compile(rf"\s*{label}", re.IGNORECASE)
        self._on_later_line = re.compile(rf"\n{label}", re.IGNORECASE)

    def leading(self, text: str) -> str | None:
        """Return the name whose label this text begins with."""
        found = self._leading.match(text)
        return found[1] if found else None

    def stripped(self, text: str) -> str:
        """Return the text without a label at its start."""
        return self._leading.sub("", text, count=1) if self._leading.match(text) else text

    def before_later(self, text: str) -> str | None:
        """Return what comes before a line, other than the first, that begins with a label; None without one."""
        found = self._on_later_line.search(text)
        return text[: found.start() + 1] if found else None


LONGEST = 400  # characters that may wait
_BEFORE, _AFTER = frozenset("*_[<@"), frozenset("*_]> \t:\uff1a")
_DRESS = 8  # characters that may stand before a name


class Names(Struct, frozen=True):
    """Who speaks, and who else could."""

    own: str
    others: Collection[str] = ()


class Introduction:
    """Takes the text of one answer, cut in any way. With `strict`, somebody else's label makes it `foreign`."""

    def __init__(self, names: Names, *, strict: bool) -> None:
        everybody = [name for name in (names.own, *names.others) if name]
        self._own = names.own.casefold()
        self._names = {name.casefold() for name in everybody}
        self._labels = Labels(everybody)
        self._strict = strict
        self._held = ""
        self._clear = False
        self._told: list[str] = []
        self.foreign: str | None = None  # whose label it began with: nothing of it is told

    @property
    def text(self) -> str:
        """All that was told."""
        return "".join(self._told)

    def feed(self, text: str) -> str:
        """Return what may be told now."""
        place = 0
        while not self._clear and place < len(text):
            self._held += text[place]
            self._look(ended=False)
            place += 1
        return self._tell(text[place:]) if self._clear else ""

    def close(self) -> str:
        """Return what is still held: nothing comes after it."""
        if not self._clear:
            self._look(ended=True)
            self._clear = True
        return self._tell("")

    def retract(self) -> None:
        """Begin anew: what came until now was no answer."""
        self._held, self._clear, self.foreign = "", False, None
        self._told.clear()

    def _tell(self, more: str) -> str:
        told = "" if self.foreign else self._held + more
        self._held = ""
        self._told.append(told)
        return told

    def _look(self, *, ended: bool) -> None:
        """Take labels off what is held, and find out whether what is left may still become one."""
        while (name := self._labels.leading(self._held)) is not None:
            rest = self._labels.stripped(self._held).lstrip()
            if not ended and rest in {"", "/"}:  # more of the label may follow, or it is an address
                break
            if self._strict and name.casefold() != self._own:
                self.foreign, self._clear = name, True
                return
            self._held = rest
        self._clear = len(self._held) > LONGEST or not self._may_become_label()

    def _may_become_label(self) -> bool:
        text = self._held.lstrip().casefold()
        for start in range(min(len(text), _DRESS) + 1):
            if start and text[start - 1] not in _BEFORE:
                return False
            if any(_begins(text[start:], name) for name in self._names):
                return True
        return False


def _begins(text: str, name: str) -> bool:
    """Tell whether a text is the beginning of a name, or a name with nothing but marks after it."""
    return name.startswith(text) or (
        text.startswith(name) and _AFTER.issuperset(text.removeprefix(name).rstrip("/\n"))
    )
