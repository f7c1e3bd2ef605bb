"""Reading a JSON array while it streams: speech as it grows, other objects when they are whole, in their order.

It needs nothing else of Moot. It reads each character once, whatever way the text is cut, keeps no more than one item,
never raises, and mends what models get wrong: `lookahead` tells stray quotes, `mending` reads escapes and literals,
`nest` closes what was left open.
"""

import re
from collections.abc import Callable
from typing import ClassVar

from moot.streaming.json_array.builder import ArrayOutput, Container, ContainerStack
from moot.streaming.json_array.detect import find_answer_start
from moot.streaming.json_array.items import (
    ArrayPiece,
    ObjectItem,
    SpeechDelta,
    action_name_and_params,
    has_type_text,
    is_speech,
)
from moot.streaming.json_array.repair import (
    LOOKAHEAD_CHARS,
    find_next_token,
    opens_quote_pair,
    parse_escape,
    parse_scalar,
    quote_ends_string,
    replace_surrogates,
)

__all__ = [
    "MAX_PREAMBLE_CHARS",
    "ArrayPiece",
    "JsonArrayParser",
    "ObjectItem",
    "SpeechDelta",
    "action_name_and_params",
]

MAX_PREAMBLE_CHARS = 2000  # characters before the array; when there are more of them, all is prose
_STRUCTURE_CHAR = re.compile(r"[^\s:,]")
_STRUCTURE_CHAR_BETWEEN_OBJECTS = re.compile(r"[\[{\]]")
_STRING_STOP = {quote: re.compile(rf"[{quote}\\]").search for quote in "\"'"}
_WORD = re.compile(r"[^\s,:{}\[\]\"/]+")
_COMMENT_ENDS = {"//": "\n", "/*": "*/"}


class JsonArrayParser:
    """Feed it what has come, and close it when no more will.

    Each step reads on from `_at`, and says whether there is enough for the next one to go on.
    """

    def __init__(self) -> None:
        self._buffer = ""
        self._position = 0
        self._is_final = False  # no more will come
        self._closed = False
        self._step: Callable[[JsonArrayParser], bool] = JsonArrayParser._skip_preamble
        self._search_start = 0  # characters of chatter in which no array begins
        self._has_bracket = True  # an array, and not objects one after the other
        self._containers = ContainerStack()
        self._has_unquoted_keys = False  # keys are written without quotes
        self._quote = ""  # around the string that is being read
        self._in_speech = False  # it is speech
        self._has_unpaired_quote = False  # a quote in it that was not escaped waits for its second one
        self._string_parts: list[str] = []  # of it, or of a word
        self._comment_end = ""
        self._output = ArrayOutput()

    @property
    def closed(self) -> bool:
        """Whether the array's own bracket was seen; what follows it is not read."""
        return self._closed

    def feed(self, text: str) -> list[ArrayPiece]:
        if not text.isascii():
            text = replace_surrogates(text)
        if self._in_speech and not self._buffer and not _STRING_STOP[self._quote](text):
            self._output.append_speech(text)
        else:
            self._buffer += text
            while self._step(self):
                pass
            self._buffer = self._buffer[self._position :]
            self._position = 0
        return self._output.take_pieces()

    def close(self) -> list[ArrayPiece]:
        """No more will come: give what was held back, and the text of an item that was never closed."""
        self._is_final = True
        read = self.feed("")
        item = self._containers.item if self._containers else None
        if isinstance(item, dict):
            if (
                self._step is JsonArrayParser._read_string
                and self._containers.key == "content"
                and len(self._containers) == 1
            ):
                item["content"] = "".join(self._string_parts)
            if is_speech(item):
                self._output.append_speech_item(item)
        self._in_speech = False
        self._step = JsonArrayParser._ignore_rest
        return read + self._output.take_pieces()

    # Steps before the array, instead of it, and after it

    def _skip_preamble(self) -> bool:
        self._buffer = self._buffer.lstrip(" \t\r\n\ufeff")
        text = self._buffer[:MAX_PREAMBLE_CHARS]
        last = self._is_final or len(text) == MAX_PREAMBLE_CHARS
        self._search_start, found = find_answer_start(text, self._search_start, is_final=last)
        if found:
            self._has_bracket = text[self._search_start] == "["
            self._position = self._search_start + self._has_bracket
            self._step = JsonArrayParser._read_structure
        elif last:
            self._step = JsonArrayParser._read_prose
        return bool(found) or last

    def _read_prose(self) -> bool:
        self._output.append_speech(self._buffer)
        return self._ignore_rest()

    def _ignore_rest(self) -> bool:
        self._position = len(self._buffer)
        return False

    # Steps in the array

    def _read_structure(self) -> bool:
        nest, text = self._containers, self._buffer
        mark = (_STRUCTURE_CHAR if self._has_bracket or nest else _STRUCTURE_CHAR_BETWEEN_OBJECTS).search(
            text, self._position
        )
        start = mark.start() if mark else len(text)
        if nest.key is not None and "," in text[self._position : start]:
            nest.key = None  # its value was forgotten
        self._position = start
        return self._STEPS.get(mark[0], JsonArrayParser._begin_word)(self) if mark else False

    def _open_object(self) -> bool:
        if self._containers.expects_key:  # a brace was forgotten
            self._containers.close_objects()
            self._end_item()
        return self._open_container({})

    def _open_array(self) -> bool:
        if self._has_bracket or self._containers:
            return self._open_container([])
        self._has_bracket = True
        self._position += 1
        return True

    def _open_container(self, container: Container) -> bool:
        self._containers.open_container(container)
        self._position += 1
        return True

    def _close_object(self) -> bool:
        self._containers.close_object()
        self._position += 1
        return self._end_item()

    def _close_array(self) -> bool:
        nest, start = self._containers, self._position + 1
        if nest.has_array:
            nest.close_array()
        else:
            rest = self._buffer[start : start + LOOKAHEAD_CHARS] if nest else ""
            after = find_next_token(rest, 0)
            if nest and after is None and not self._is_final and len(rest) < LOOKAHEAD_CHARS:
                return False
            if after is not None and rest[after] in "},":
                nest.close_object()  # this was meant to be a brace
            else:
                nest.close_objects()
                self._closed = True
                self._step = JsonArrayParser._ignore_rest
        self._position = start
        return self._end_item()

    def _begin_comment(self) -> bool:
        opening = self._buffer[self._position : self._position + 2]
        if opening == "/" and not self._is_final:
            return False
        if opening in _COMMENT_ENDS:
            self._comment_end = _COMMENT_ENDS[opening]
            self._step = JsonArrayParser._skip_comment
        self._position += len(opening) if opening in _COMMENT_ENDS else 1
        return True

    def _skip_comment(self) -> bool:
        end = self._buffer.find(self._comment_end, self._position)
        if end < 0:
            self._position = max(self._position, len(self._buffer) - 1)  # it may be half of what ends it
            return False
        self._position = end + len(self._comment_end)
        self._step = JsonArrayParser._read_structure
        return True

    def _begin_word(self) -> bool:
        self._string_parts.clear()
        self._step = JsonArrayParser._read_word
        return True

    def _read_word(self) -> bool:
        if word := _WORD.match(self._buffer, self._position):
            self._string_parts.append(word[0])
            self._position = word.end()
        if self._position == len(self._buffer) and not self._is_final:
            return False
        self._step = JsonArrayParser._read_structure
        if self._containers.expects_key:
            self._has_unquoted_keys = True
            self._containers.add_value("".join(self._string_parts))
        elif self._containers:
            self._containers.add_value(parse_scalar("".join(self._string_parts)))
        return True

    def _begin_string(self) -> bool:
        nest = self._containers
        self._quote = self._buffer[self._position]
        self._position += 1
        self._has_unpaired_quote = False
        self._string_parts.clear()
        if not nest or (nest.key == "content" and len(nest) == 1 and has_type_text(nest.item)):
            self._in_speech = True
            self._output.begin_item()
        self._step = JsonArrayParser._read_string
        return True

    def _read_string(self) -> bool:
        text, at = self._buffer, self._position
        stop = _STRING_STOP[self._quote](text, at)
        self._position = stop.start() if stop else len(text)
        if at < self._position:
            self._append_string_part(text[at : self._position])
        if stop is None:
            return False
        return self._read_escape() if stop[0] == "\\" else self._handle_quote()

    def _read_escape(self) -> bool:
        found = parse_escape(self._buffer, self._position, is_final=self._is_final)
        if found is None:
            return False
        piece, self._position = found
        self._append_string_part(piece)
        return True

    def _handle_quote(self) -> bool:
        rest = self._buffer[self._position + 1 : self._position + 1 + LOOKAHEAD_CHARS]
        ending = self._containers.expects_key or self._quote_ends_string(rest)
        if ending is None:
            return False
        self._position += 1
        if ending:
            self._step = JsonArrayParser._read_structure
            self._end_string()
        else:
            before = self._output.last_character if self._in_speech else "".join(self._string_parts[-1:])[-1:]
            self._has_unpaired_quote = opens_quote_pair(before, rest)
            self._append_string_part(self._quote)
        return True

    def _quote_ends_string(self, rest: str) -> bool | None:
        return quote_ends_string(
            rest,
            self._containers.open_brackets(8)
            if self._has_unpaired_quote
            else self._containers.innermost_bracket,
            has_unpaired_quote=self._has_unpaired_quote,
            has_unquoted_keys=self._has_unquoted_keys,
            is_final=self._is_final or len(rest) == LOOKAHEAD_CHARS,
        )

    def _end_string(self) -> None:
        nest = self._containers
        if self._in_speech:
            self._in_speech = False
            nest.key = None
            return
        is_type = nest.key == "type" and len(nest) == 1
        nest.add_value("".join(self._string_parts))
        if is_type and isinstance(nest.item, dict) and is_speech(nest.item):
            self._output.append_speech_item(nest.item)  # it had its content before its type

    def _append_string_part(self, piece: str) -> None:
        if self._in_speech:
            self._output.append_speech(piece)
        else:
            self._string_parts.append(piece)

    def _end_item(self) -> bool:
        nest = self._containers
        if not nest and nest.item is not None:
            item, nest.item = nest.item, None
            if isinstance(item, dict) and not nest.too_deep:
                self._output.append_item(item)
        return True

    _STEPS: ClassVar[dict[str, Callable[["JsonArrayParser"], bool]]] = {
        "{": _open_object,
        "[": _open_array,
        "}": _close_object,
        "]": _close_array,
        "/": _begin_comment,
        '"': _begin_string,
        "'": _begin_string,
    }
