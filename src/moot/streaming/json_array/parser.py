"""Incremental parser for a JSON array of speech and objects.

Speech is returned as it arrives, objects when they are complete, in their order.
The parser accepts chunks of any size, parses each character once, and buffers one item at most. It never raises.
It accepts invalid JSON that models write. `repair` handles quotes, escapes and literals, `builder` unclosed brackets.
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

MAX_PREAMBLE_CHARS = 2000  # after so much text without an array, the whole response is prose
_STRUCTURE_CHAR = re.compile(r"[^\s:,]")
_STRUCTURE_CHAR_BETWEEN_OBJECTS = re.compile(r"[\[{\]]")
_STRING_STOP = {quote: re.compile(rf"[{quote}\\]").search for quote in "\"'"}
_WORD = re.compile(r"[^\s,:{}\[\]\"/]+")
_COMMENT_ENDS = {"//": "\n", "/*": "*/"}


class JsonArrayParser:
    """Call `feed` for each chunk, and `close` at the end.

    A state machine: each step method parses from `_position`, and may set the next `_step`.
    It returns False if it needs more text.
    """

    def __init__(self) -> None:
        self._buffer = ""
        self._position = 0
        self._is_final = False  # no more text follows
        self._closed = False
        self._step: Callable[[JsonArrayParser], bool] = JsonArrayParser._skip_preamble
        self._search_start = 0  # index up to which no array begins
        self._has_bracket = True  # False: objects in sequence, without an array
        self._containers = ContainerStack()
        self._has_unquoted_keys = False  # the model writes keys without quotes
        self._quote = ""  # quote character of the current string
        self._in_speech = False  # the current string is speech
        self._has_unpaired_quote = False  # the string has an unescaped quote without a second one
        self._string_parts: list[str] = []  # parts of the current string or word
        self._comment_end = ""
        self._output = ArrayOutput()

    @property
    def closed(self) -> bool:
        """True after the closing bracket of the array. The parser ignores later text."""
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
        """Flush the buffer at the end of the stream. Also returns the text of an incomplete speech item."""
        self._is_final = True
        pieces = self.feed("")
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
        return pieces + self._output.take_pieces()

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
        containers, text = self._containers, self._buffer
        mark = (_STRUCTURE_CHAR if self._has_bracket or containers else _STRUCTURE_CHAR_BETWEEN_OBJECTS).search(
            text, self._position
        )
        start = mark.start() if mark else len(text)
        if containers.key is not None and "," in text[self._position : start]:
            containers.key = None  # the value is missing
        self._position = start
        return self._STEPS.get(mark[0], JsonArrayParser._begin_word)(self) if mark else False

    def _open_object(self) -> bool:
        if self._containers.expects_key:  # the closing brace is missing
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
        containers, start = self._containers, self._position + 1
        if containers.has_array:
            containers.close_array()
        else:
            rest = self._buffer[start : start + LOOKAHEAD_CHARS] if containers else ""
            after = find_next_token(rest, 0)
            if containers and after is None and not self._is_final and len(rest) < LOOKAHEAD_CHARS:
                return False
            if after is not None and rest[after] in "},":
                containers.close_object()  # the model wrote a bracket instead of a brace
            else:
                containers.close_objects()
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
            self._position = max(self._position, len(self._buffer) - 1)  # keep a possible half of "*/"
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
        containers = self._containers
        self._quote = self._buffer[self._position]
        self._position += 1
        self._has_unpaired_quote = False
        self._string_parts.clear()
        if not containers or (containers.key == "content" and len(containers) == 1 and has_type_text(containers.item)):
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
            self._containers.open_brackets(8) if self._has_unpaired_quote else self._containers.innermost_bracket,
            has_unpaired_quote=self._has_unpaired_quote,
            has_unquoted_keys=self._has_unquoted_keys,
            is_final=self._is_final or len(rest) == LOOKAHEAD_CHARS,
        )

    def _end_string(self) -> None:
        containers = self._containers
        if self._in_speech:
            self._in_speech = False
            containers.key = None
            return
        is_type = containers.key == "type" and len(containers) == 1
        containers.add_value("".join(self._string_parts))
        if is_type and isinstance(containers.item, dict) and is_speech(containers.item):
            self._output.append_speech_item(containers.item)  # "content" came before "type"

    def _append_string_part(self, piece: str) -> None:
        if self._in_speech:
            self._output.append_speech(piece)
        else:
            self._string_parts.append(piece)

    def _end_item(self) -> bool:
        containers = self._containers
        if not containers and containers.item is not None:
            item, containers.item = containers.item, None
            if isinstance(item, dict) and not containers.too_deep:
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
