"""Builders for streamed JSON items: a stack of open containers, and the output buffer."""

import re
from typing import Any

from moot.streaming.json_array.items import ArrayPiece, ObjectItem, SpeechDelta, is_speech

MAX_NESTING_DEPTH = 100  # the JSON encoder cannot serialize deeper objects

Container = dict[str, Any] | list[Any]


class ContainerStack:
    """Open objects and arrays of the current item. Each value is added to the innermost one immediately."""

    __slots__ = ("_arrays", "_levels", "item", "key", "too_deep")

    def __init__(self) -> None:
        self._levels: list[Container] = []  # outermost first
        self._arrays = 0  # how many levels are arrays
        self.item: Container | None = None  # the outermost container
        self.key: str | None = None  # key in the innermost object that has no value yet
        self.too_deep = False  # the item exceeds MAX_NESTING_DEPTH and is dropped

    def __len__(self) -> int:
        return len(self._levels)

    @property
    def expects_key(self) -> bool:
        return self.key is None and bool(self._levels) and type(self._levels[-1]) is dict

    @property
    def has_array(self) -> bool:
        return self._arrays > 0

    def open_container(self, container: Container) -> None:
        if self._levels:
            self.add_value(container)
        else:
            self.item, self.too_deep = container, False
        self._levels.append(container)
        self._arrays += type(container) is list
        self.too_deep |= len(self._levels) > MAX_NESTING_DEPTH

    def add_value(self, value: object) -> None:
        """Add a value, or set the key if the innermost object has none. Ignore a key that is not a string."""
        innermost = self._levels[-1]
        if type(innermost) is list:
            innermost.append(value)
        elif type(innermost) is dict and self.key is not None:
            innermost[self.key] = value
            self.key = None
        elif isinstance(value, str):
            self.key = value

    def close_object(self) -> None:
        """Close the innermost object and any unclosed arrays in it. No-op without an object."""
        self.key = None
        if len(self._levels) > self._arrays:
            while type(self._levels.pop()) is list:
                self._arrays -= 1

    def close_array(self) -> None:
        """Close the innermost array and any unclosed objects in it. No-op without an array."""
        if self._arrays:
            self.close_objects()
            self._levels.pop()
            self._arrays -= 1

    def close_objects(self) -> None:
        """Close all objects inside the innermost array, or all objects if there is no array."""
        self.key = None
        while self._levels and type(self._levels[-1]) is dict:
            self._levels.pop()

    @property
    def innermost_bracket(self) -> str:
        """Opening bracket of the innermost container; an empty string if none is open."""
        if not self._levels:
            return ""
        return "{" if type(self._levels[-1]) is dict else "["

    def open_brackets(self, levels: int) -> str:
        """Return the opening brackets of up to `levels` containers, innermost first."""
        return "".join("{" if type(level) is dict else "[" for level in self._levels[: -levels - 1 : -1])


# Chinese and Japanese have no spaces between sentences.
_SCRIPT_WITHOUT_SPACES = re.compile(r"[\u3001-\u30ff\u3400-\u9fff\uff01-\uff60]")


class ArrayOutput:
    """Output buffer of the parser: merges speech into one delta, and keeps the order of items."""

    def __init__(self) -> None:
        self._pieces: list[ArrayPiece] = []
        self._pending_speech: list[str] = []
        self._last_character = ""  # of all speech so far
        self._needs_separator = False

    @property
    def last_character(self) -> str:
        """The last character of the current speech item."""
        return "" if self._needs_separator else self._last_character

    def begin_item(self) -> None:
        """The next speech belongs to a new item."""
        self._needs_separator = True

    def append_speech(self, text: str) -> None:
        if not text:
            return
        if self._needs_separator:
            self._needs_separator = False
            if _needs_space_between(self._last_character, text[0]):
                self._pending_speech.append(" ")
        self._pending_speech.append(text)
        self._last_character = text[-1]

    def append_speech_item(self, item: dict[str, Any]) -> None:
        """Append the content of a complete text item. No-op if it was streamed already."""
        content = item.pop("content", None)
        if isinstance(content, str):
            self.begin_item()
            self.append_speech(content)

    def append_item(self, item: dict[str, Any]) -> None:
        if is_speech(item):
            self.append_speech_item(item)
        else:
            self._flush_speech()
            self._pieces.append(ObjectItem(item))

    def take_pieces(self) -> list[ArrayPiece]:
        """Flush the buffer and return its pieces."""
        self._flush_speech()
        pieces, self._pieces = self._pieces, []
        return pieces

    def _flush_speech(self) -> None:
        if self._pending_speech:
            self._pieces.append(SpeechDelta("".join(self._pending_speech)))
            self._pending_speech.clear()


def _needs_space_between(before: str, after: str) -> bool:
    return bool(before) and not (before.isspace() or after.isspace() or _SCRIPT_WITHOUT_SPACES.match(before))
