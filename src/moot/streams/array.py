"""Reading a JSON array while it streams: speech as it grows, other objects when they are whole, in their order.

It needs nothing else of Moot. It reads each character once, whatever way the text is cut, keeps no more than one item,
never raises, and mends what models get wrong (see `lookahead` and `mending`).
"""

import re
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from moot.streams.lookahead import WINDOW, ends, opens, solid
from moot.streams.mending import escape, scalar, without_surrogates
from moot.streams.nest import Container, Nest

LONGEST_CHATTER = 2000  # characters before the array; when there are more of them, all is prose
_OPENING = re.compile(r"[\[{]")
_MARK = re.compile(r"[^\s:,]")
_BARE_MARK = re.compile(r"[\[{\]]")
_STRING_STOP = {quote: re.compile(rf"[{quote}\\]").search for quote in "\"'"}
_WORD = re.compile(r"[^\s,:{}\[\]\"/]+")
_COMMENTS = {"//": "\n", "/*": "*/"}
_UNSPACED = re.compile(
    r"[\u3001-\u30ff\u3400-\u9fff\uff01-\uff60]"
)  # of scripts without spaces between sentences


class Grown(Struct, frozen=True):
    """Speech that was added. What two items say is kept apart by a space, unless there is white space."""

    text: str


class Item(Struct, frozen=True):
    """An object that is no speech, with the keys that the model wrote."""

    value: dict[str, Any]


Read = Grown | Item


def action_of(item: Item) -> tuple[str, dict[str, Any]] | None:
    """Return the name and the parameters of an action, in either spelling."""
    name = item.value.get("name") or item.value.get("tool_name")
    params = item.value.get("params") or item.value.get("parameters")
    if not isinstance(name, str) or not name:
        return None
    return name, params if isinstance(params, dict) else {}


class ArrayReader:
    """Each step reads on from `_at`, and says whether there is enough for the next one to go on."""

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
        self._stray = 0  # quotes in it that should have been escaped
        self._parts: list[str] = []  # of it, or of a word
        self._comment_end = ""
        self._out: list[Read] = []
        self._speech: list[str] = []
        self._spoken = ""  # the last character of all speech
        self._apart = False  # what is said next is another item's

    @property
    def closed(self) -> bool:
        """Whether the array's own bracket was seen; what follows it is not read."""
        return self._closed

    def feed(self, text: str) -> list[Read]:
        self._text += without_surrogates(text)
        while self._step(self):
            pass
        self._text = self._text[self._at :]
        self._at = 0
        self._flush()
        out, self._out = self._out, []
        return out

    def close(self) -> list[Read]:
        """No more will come: give what was held back, and the text of an item that was never closed."""
        self._last = True
        out = self.feed("")
        item = self._nest.item if self._nest else None
        if isinstance(item, dict):
            if self._step is ArrayReader._string and self._nest.key == "content" and len(self._nest) == 1:
                item["content"] = "".join(self._parts)
            if _is_speech(item):
                self._speak(item)
        self._step = ArrayReader._nothing
        return out + self.feed("")

    # Steps before the array, after it, and instead of it

    def _chatter(self) -> bool:
        self._text = self._text.lstrip(" \t\r\n\ufeff")
        text = self._text[:LONGEST_CHATTER]
        last = self._last or len(text) == LONGEST_CHATTER
        while mark := _OPENING.search(text, self._searched):
            self._searched = mark.start()
            found = opens(text, mark.start(), last=last)
            if found is None:
                return False
            if found:
                return self._begin(mark.start(), bracketed=mark[0] == "[")
            self._searched += 1
        self._searched = len(text)
        if last:
            self._step = ArrayReader._prose
        return last

    def _begin(self, at: int, *, bracketed: bool) -> bool:
        self._at = at + bracketed
        self._bracketed = bracketed
        self._step = ArrayReader._structure
        return True

    def _prose(self) -> bool:
        self._say(self._text[self._at :])
        return self._nothing()

    def _nothing(self) -> bool:
        self._at = len(self._text)
        return False

    # Steps in the array

    def _structure(self) -> bool:
        nest, text = self._nest, self._text
        mark = (_MARK if self._bracketed or nest else _BARE_MARK).search(text, self._at)
        start = mark.start() if mark else len(text)
        if nest.key is not None and "," in text[self._at : start]:
            nest.key = None  # its value was forgotten
        self._at = start
        return _MARKS.get(mark[0], ArrayReader._begin_word)(self) if mark else False

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
        if self._nest.has_array:
            self._nest.close_array()
        elif self._nest:
            after = solid(self._text[self._at + 1 : self._at + 1 + WINDOW], 0)
            if after is None and not self._last and len(self._text) <= self._at + WINDOW:
                return False
            if after is not None and self._text[self._at + 1 + after] in "},":
                self._nest.close_object()  # it was meant to be a brace
            else:
                self._nest.close_objects()  # braces were forgotten
                self._end_array()
        else:
            self._end_array()
        self._at += 1
        return self._end_item()

    def _end_array(self) -> None:
        self._closed = True
        self._step = ArrayReader._nothing

    def _begin_comment(self) -> bool:
        opening = self._text[self._at : self._at + 2]
        if opening == "/" and not self._last:
            return False
        self._at += 1
        if opening in _COMMENTS:
            self._at += 1
            self._comment_end = _COMMENTS[opening]
            self._step = ArrayReader._comment
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
        word = _WORD.match(self._text, self._at)
        if word:
            self._parts.append(word[0])
            self._at = word.end()
        if self._at == len(self._text) and not self._last:
            return False
        self._step = ArrayReader._structure
        if self._nest.wants_key:
            self._named = True
            self._nest.key = "".join(self._parts)
        elif self._nest:
            self._nest.put(scalar("".join(self._parts)))
        return True

    def _begin_string(self) -> bool:
        nest = self._nest
        self._quote = self._text[self._at]
        self._at += 1
        self._aloud = not nest or (len(nest) == 1 and nest.key == "content" and _has_type_text(nest.item))
        self._apart = self._aloud
        self._stray = 0
        self._parts.clear()
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
        return self._escape() if stop[0] == "\\" else self._end_string()

    def _escape(self) -> bool:
        found = escape(self._text, self._at, last=self._last)
        if found is None:
            return False
        self._take(found[0])
        self._at = found[1]
        return True

    def _end_string(self) -> bool:
        nest, start = self._nest, self._at + 1
        if not nest.wants_key:
            rest = self._text[start : start + WINDOW]
            found = ends(
                rest,
                nest.inside,
                nest.around,
                doubt=self._stray % 2 == 1 and (self._bracketed or len(nest) > 1),
                named=self._named,
                last=self._last or len(rest) == WINDOW,
            )
            if found is None:
                return False
            if not found:
                self._stray += 1
                self._take(self._quote)
                self._at = start
                return True
        self._at = start
        self._step = ArrayReader._structure
        self._put_string()
        return True

    def _put_string(self) -> None:
        nest = self._nest
        if self._aloud:
            nest.key = None
            return
        key = nest.key
        nest.put("".join(self._parts))
        if key == "type" and len(nest) == 1 and isinstance(nest.item, dict) and _has_type_text(nest.item):
            self._speak(nest.item)

    # What comes of it

    def _end_item(self) -> bool:
        nest = self._nest
        if not nest and nest.item is not None:
            item, nest.item = nest.item, None
            if isinstance(item, dict) and not nest.too_deep:
                if _is_speech(item):
                    self._speak(item)
                else:
                    self._flush()
                    self._out.append(Item(item))
        return True

    def _speak(self, item: dict[str, Any]) -> None:
        """Say the content of a text item that could not be said while it grew."""
        content = item.pop("content", None)
        if isinstance(content, str):
            self._apart = True
            self._say(content)

    def _take(self, piece: str) -> None:
        if self._aloud:
            self._say(piece)
        else:
            self._parts.append(piece)

    def _say(self, piece: str) -> None:
        if not piece:
            return
        if self._apart and _run_together(self._spoken, piece[0]):
            self._speech.append(" ")
        self._apart = False
        self._speech.append(piece)
        self._spoken = piece[-1]

    def _flush(self) -> None:
        if self._speech:
            self._out.append(Grown("".join(self._speech)))
            self._speech.clear()


def _has_type_text(item: Container | None) -> bool:
    return isinstance(item, dict) and item.get("type") == "text"


def _is_speech(item: dict[str, Any]) -> bool:
    if "type" in item:
        return item["type"] == "text"
    return isinstance(item.get("content"), str) and not ("name" in item or "tool_name" in item)


def _run_together(before: str, after: str) -> bool:
    return bool(before) and not (before.isspace() or after.isspace() or _UNSPACED.match(before))


_MARKS = {
    "{": ArrayReader._open_object,
    "[": ArrayReader._open_array,
    "}": ArrayReader._close_object,
    "]": ArrayReader._close_array,
    "/": ArrayReader._begin_comment,
    '"': ArrayReader._begin_string,
    "'": ArrayReader._begin_string,
}
