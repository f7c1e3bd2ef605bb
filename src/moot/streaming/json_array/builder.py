"""Builds the items of an array while they stream, container by container."""

import re
from typing import Any

from moot.streaming.json_array.items import ArrayPiece, ObjectItem, SpeechDelta, is_speech

MAX_NESTING_DEPTH = 100  # levels; what is nested deeper could not be written down again

Container = dict[str, Any] | list[Any]


class ContainerStack:
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
    def innermost_bracket(self) -> str:
        """What is open and innermost: "{" or "[", or "" for nothing."""
        if not self._levels:
            return ""
        return "{" if type(self._levels[-1]) is dict else "["

    def open_brackets(self, levels: int) -> str:
        """Show so many of what is open, innermost first."""
        return "".join("{" if type(level) is dict else "[" for level in self._levels[: -levels - 1 : -1])


_SCRIPT_WITHOUT_SPACES = re.compile(
    r"[\u3001-\u30ff\u3400-\u9fff\uff01-\uff60]"
)  # of scripts without spaces between sentences


class ArrayOutput:
    def __init__(self) -> None:
        self._pieces: list[ArrayPiece] = []
        self._pending_speech: list[str] = []
        self._last_character = ""  # character of all speech
        self._needs_separator = False

    @property
    def last_character(self) -> str:
        """The last character that this item has said."""
        return "" if self._needs_separator else self._last_character

    def begin_item(self) -> None:
        """What is said next is another item's."""
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
        """Say the content of a text item, if that was not done while it grew."""
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
        """Hand over what there is."""
        self._flush_speech()
        read, self._pieces = self._pieces, []
        return read

    def _flush_speech(self) -> None:
        if self._pending_speech:
            self._pieces.append(SpeechDelta("".join(self._pending_speech)))
            self._pending_speech.clear()


def _needs_space_between(before: str, after: str) -> bool:
    return bool(before) and not (before.isspace() or after.isspace() or _SCRIPT_WITHOUT_SPACES.match(before))
