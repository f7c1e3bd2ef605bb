"""Builds the items of an array while they stream, container by container."""

import re
from typing import Any

from moot.streaming.json_array.items import Grown, Item, Read, is_speech

DEEPEST = 100  # levels; what is nested deeper could not be written down again

Container = dict[str, Any] | list[Any]


class Nest:
    """What is open, outermost first. A value goes where it belongs as soon as it is there."""

    __slots__ = ("_arrays", "_levels", "item", "key", "too_deep")

    def __init__(self) -> None:
        self._levels: list[Container] = []
        self._arrays = 0  # among them
        self.item: Container | None = None
        self.key: str | None = None  # of the object that is innermost, while its value is wanted
        self.too_deep = False

    def __len__(self) -> int:
        return len(self._levels)

    @property
    def wants_key(self) -> bool:
        return self.key is None and bool(self._levels) and type(self._levels[-1]) is dict

    @property
    def has_array(self) -> bool:
        return self._arrays > 0

    def open(self, container: Container) -> None:
        if self._levels:
            self.put(container)
        else:
            self.item, self.too_deep = container, False
        self._levels.append(container)
        self._arrays += type(container) is list
        self.too_deep |= len(self._levels) > DEEPEST

    def put(self, value: object) -> None:
        """Take a value, or the key of the next one; what has no place is left out."""
        innermost = self._levels[-1]
        if type(innermost) is list:
            innermost.append(value)
        elif type(innermost) is dict and self.key is not None:
            innermost[self.key] = value
            self.key = None
        elif isinstance(value, str):
            self.key = value

    def close_object(self) -> None:
        """Close the innermost object, and the arrays that were left open in it; nothing, if there is none."""
        self.key = None
        if len(self._levels) > self._arrays:
            while type(self._levels.pop()) is list:
                self._arrays -= 1

    def close_array(self) -> None:
        """Close the innermost array, and the objects that were left open in it; nothing, if there is none."""
        if self._arrays:
            self.close_objects()
            self._levels.pop()
            self._arrays -= 1

    def close_objects(self) -> None:
        """Close the objects in the innermost array, or all if there is none."""
        self.key = None
        while self._levels and type(self._levels[-1]) is dict:
            self._levels.pop()

    @property
    def inside(self) -> str:
        """What is open and innermost: "{" or "[", or "" for nothing."""
        if not self._levels:
            return ""
        return "{" if type(self._levels[-1]) is dict else "["

    def path(self, levels: int) -> str:
        """Show so many of what is open, innermost first."""
        return "".join("{" if type(level) is dict else "[" for level in self._levels[: -levels - 1 : -1])


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
