"""Reading a JSON array while it streams: speech as it grows, other objects when they are whole, in their order.

It needs nothing else of Moot. It reads each character once, whatever way the text is cut, keeps no more than one item,
never raises, and mends what models get wrong: `lookahead` tells stray quotes, `mending` reads escapes and literals,
`nest` closes what was left open.
"""

import re
from collections.abc import Callable
from typing import ClassVar

from moot.streaming.json_array.builder import Container, Nest, Outlet
from moot.streaming.json_array.detect import find_opening
from moot.streaming.json_array.items import Grown, Item, Read, action_of, has_type_text, is_speech
from moot.streaming.json_array.repair import (
    WINDOW,
    begins_pair,
    ends,
    escape,
    scalar,
    solid,
    without_surrogates,
)

__all__ = ["LONGEST_CHATTER", "ArrayReader", "Grown", "Item", "Read", "action_of"]

LONGEST_CHATTER = 2000  # characters before the array; when there are more of them, all is prose
_MARK = re.compile(r"[^\s:,]")
_MARK_BETWEEN_OBJECTS = re.compile(r"[\[{\]]")
_STRING_STOP = {quote: re.compile(rf"[{quote}\\]").search for quote in "\"'"}
_WORD = re.compile(r"[^\s,:{}\[\]\"/]+")
_COMMENTS = {"//": "\n", "/*": "*/"}


class ArrayReader:
    """Feed it what has come, and close it when no more will.

    Each step reads on from `_at`, and says whether there is enough for the next one to go on.
    """

    def __init__(self) -> None:
        self._text = ""
        self._at = 0
        self._last = False  # no more will come
        self._closed = False
        self._step: Callable[[ArrayReader], bool] = ArrayReader._chatter
        self._searched = 0  # characters of chatter in which no array begins
        self._bracketed = True  # an array, and not objects one after the other
        self._nest = Nest()
        self._named = False  # keys are written without quotes
        self._quote = ""  # around the string that is being read
        self._aloud = False  # it is speech
        self._doubt = False  # a quote in it that was not escaped waits for its second one
        self._parts: list[str] = []  # of it, or of a word
        self._comment_end = ""
        self._outlet = Outlet()

    @property
    def closed(self) -> bool:
        """Whether the array's own bracket was seen; what follows it is not read."""
        return self._closed

    def feed(self, text: str) -> list[Read]:
        if not text.isascii():
            text = without_surrogates(text)
        if self._aloud and not self._text and not _STRING_STOP[self._quote](text):
            self._outlet.say(text)
        else:
            self._text += text
            while self._step(self):
                pass
            self._text = self._text[self._at :]
            self._at = 0
        return self._outlet.taken()

    def close(self) -> list[Read]:
        """No more will come: give what was held back, and the text of an item that was never closed."""
        self._last = True
        read = self.feed("")
        item = self._nest.item if self._nest else None
        if isinstance(item, dict):
            if self._step is ArrayReader._string and self._nest.key == "content" and len(self._nest) == 1:
                item["content"] = "".join(self._parts)
            if is_speech(item):
                self._outlet.speak(item)
        self._aloud = False
        self._step = ArrayReader._nothing
        return read + self._outlet.taken()

    # Steps before the array, instead of it, and after it

    def _chatter(self) -> bool:
        self._text = self._text.lstrip(" \t\r\n\ufeff")
        text = self._text[:LONGEST_CHATTER]
        last = self._last or len(text) == LONGEST_CHATTER
        self._searched, found = find_opening(text, self._searched, last=last)
        if found:
            self._bracketed = text[self._searched] == "["
            self._at = self._searched + self._bracketed
            self._step = ArrayReader._structure
        elif last:
            self._step = ArrayReader._prose
        return bool(found) or last

    def _prose(self) -> bool:
        self._outlet.say(self._text)
        return self._nothing()

    def _nothing(self) -> bool:
        self._at = len(self._text)
        return False

    # Steps in the array

    def _structure(self) -> bool:
        nest, text = self._nest, self._text
        mark = (_MARK if self._bracketed or nest else _MARK_BETWEEN_OBJECTS).search(text, self._at)
        start = mark.start() if mark else len(text)
        if nest.key is not None and "," in text[self._at : start]:
            nest.key = None  # its value was forgotten
        self._at = start
        return self._STEPS.get(mark[0], ArrayReader._begin_word)(self) if mark else False

    def _open_object(self) -> bool:
        if self._nest.wants_key:  # a brace was forgotten
            self._nest.close_objects()
            self._end_item()
        return self._open({})

    def _open_array(self) -> bool:
        if self._bracketed or self._nest:
            return self._open([])
        self._bracketed = True
        self._at += 1
        return True

    def _open(self, container: Container) -> bool:
        self._nest.open(container)
        self._at += 1
        return True

    def _close_object(self) -> bool:
        self._nest.close_object()
        self._at += 1
        return self._end_item()

    def _close_array(self) -> bool:
        nest, start = self._nest, self._at + 1
        if nest.has_array:
            nest.close_array()
        else:
            rest = self._text[start : start + WINDOW] if nest else ""
            after = solid(rest, 0)
            if nest and after is None and not self._last and len(rest) < WINDOW:
                return False
            if after is not None and rest[after] in "},":
                nest.close_object()  # this was meant to be a brace
            else:
                nest.close_objects()
                self._closed = True
                self._step = ArrayReader._nothing
        self._at = start
        return self._end_item()

    def _begin_comment(self) -> bool:
        opening = self._text[self._at : self._at + 2]
        if opening == "/" and not self._last:
            return False
        if opening in _COMMENTS:
            self._comment_end = _COMMENTS[opening]
            self._step = ArrayReader._comment
        self._at += len(opening) if opening in _COMMENTS else 1
        return True

    def _comment(self) -> bool:
        end = self._text.find(self._comment_end, self._at)
        if end < 0:
            self._at = max(self._at, len(self._text) - 1)  # it may be half of what ends it
            return False
        self._at = end + len(self._comment_end)
        self._step = ArrayReader._structure
        return True

    def _begin_word(self) -> bool:
        self._parts.clear()
        self._step = ArrayReader._word
        return True

    def _word(self) -> bool:
        if word := _WORD.match(self._text, self._at):
            self._parts.append(word[0])
            self._at = word.end()
        if self._at == len(self._text) and not self._last:
            return False
        self._step = ArrayReader._structure
        if self._nest.wants_key:
            self._named = True
            self._nest.put("".join(self._parts))
        elif self._nest:
            self._nest.put(scalar("".join(self._parts)))
        return True

    def _begin_string(self) -> bool:
        nest = self._nest
        self._quote = self._text[self._at]
        self._at += 1
        self._doubt = False
        self._parts.clear()
        if not nest or (nest.key == "content" and len(nest) == 1 and has_type_text(nest.item)):
            self._aloud = True
            self._outlet.begin()
        self._step = ArrayReader._string
        return True

    def _string(self) -> bool:
        text, at = self._text, self._at
        stop = _STRING_STOP[self._quote](text, at)
        self._at = stop.start() if stop else len(text)
        if at < self._at:
            self._take(text[at : self._at])
        if stop is None:
            return False
        return self._escape() if stop[0] == "\\" else self._judge_quote()

    def _escape(self) -> bool:
        found = escape(self._text, self._at, last=self._last)
        if found is None:
            return False
        piece, self._at = found
        self._take(piece)
        return True

    def _judge_quote(self) -> bool:
        rest = self._text[self._at + 1 : self._at + 1 + WINDOW]
        ending = self._nest.wants_key or self._ends_string(rest)
        if ending is None:
            return False
        self._at += 1
        if ending:
            self._step = ArrayReader._structure
            self._end_string()
        else:
            before = self._outlet.last if self._aloud else "".join(self._parts[-1:])[-1:]
            self._doubt = begins_pair(before, rest)
            self._take(self._quote)
        return True

    def _ends_string(self, rest: str) -> bool | None:
        return ends(
            rest,
            self._nest.path(8) if self._doubt else self._nest.inside,
            doubt=self._doubt,
            named=self._named,
            last=self._last or len(rest) == WINDOW,
        )

    def _end_string(self) -> None:
        nest = self._nest
        if self._aloud:
            self._aloud = False
            nest.key = None
            return
        is_type = nest.key == "type" and len(nest) == 1
        nest.put("".join(self._parts))
        if is_type and isinstance(nest.item, dict) and is_speech(nest.item):
            self._outlet.speak(nest.item)  # it had its content before its type

    def _take(self, piece: str) -> None:
        if self._aloud:
            self._outlet.say(piece)
        else:
            self._parts.append(piece)

    def _end_item(self) -> bool:
        nest = self._nest
        if not nest and nest.item is not None:
            item, nest.item = nest.item, None
            if isinstance(item, dict) and not nest.too_deep:
                self._outlet.give(item)
        return True

    _STEPS: ClassVar[dict[str, Callable[["ArrayReader"], bool]]] = {
        "{": _open_object,
        "[": _open_array,
        "}": _close_object,
        "]": _close_array,
        "/": _begin_comment,
        '"': _begin_string,
        "'": _begin_string,
    }
