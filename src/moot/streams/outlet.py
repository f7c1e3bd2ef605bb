"""What is read of an array, in order: speech joined to as few pieces as there can be, and other objects."""

import re
from typing import Any

from moot.streams.items import Grown, Item, Read, is_speech

_UNSPACED = re.compile(
    r"[\u3001-\u30ff\u3400-\u9fff\uff01-\uff60]"
)  # of scripts without spaces between sentences


class Outlet:
    def __init__(self) -> None:
        self._read: list[Read] = []
        self._speech: list[str] = []
        self._last = ""  # character of all speech
        self._apart = False

    @property
    def last(self) -> str:
        """The last character that this item has said."""
        return "" if self._apart else self._last

    def begin(self) -> None:
        """What is said next is another item's."""
        self._apart = True

    def say(self, text: str) -> None:
        if not text:
            return
        if self._apart:
            self._apart = False
            if _run_together(self._last, text[0]):
                self._speech.append(" ")
        self._speech.append(text)
        self._last = text[-1]

    def speak(self, item: dict[str, Any]) -> None:
        """Say the content of a text item, if that was not done while it grew."""
        content = item.pop("content", None)
        if isinstance(content, str):
            self.begin()
            self.say(content)

    def give(self, item: dict[str, Any]) -> None:
        if is_speech(item):
            self.speak(item)
        else:
            self._flush()
            self._read.append(Item(item))

    def taken(self) -> list[Read]:
        """Hand over what there is."""
        self._flush()
        read, self._read = self._read, []
        return read

    def _flush(self) -> None:
        if self._speech:
            self._read.append(Grown("".join(self._speech)))
            self._speech.clear()


def _run_together(before: str, after: str) -> bool:
    return bool(before) and not (before.isspace() or after.isspace() or _UNSPACED.match(before))
