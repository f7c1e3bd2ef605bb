"""The first words of an answer, held back until it is clear whether they only say who speaks.

One's own label is taken off. An answer that begins with somebody else's is none of one's own: it is thrown away or,
where it may not be asked for again, told without the label. Nothing waits longer than it takes to tell.
"""

from collections.abc import Collection

from msgspec import Struct

from moot.streams.labels import Labels

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
