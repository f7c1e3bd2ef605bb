"""Where the answer begins in what a model wrote, and what is only prose with a bracket in it."""

import re

from moot.streaming.json_array.repair import (
    QUOTES,
    SCALAR_START,
    find_next_token,
    is_member_start,
    is_object_start,
)

_OPENING_BRACKET = re.compile(r"[\[{]")
_FENCE = re.compile(r"\s*(?:`{3,}\w*\s*)?")
_TYPED_OBJECT = re.compile(r"\{\s*[\"']type[\"']\s*:")
_TYPED_OBJECT_LENGTH = len('{"type":') + 8  # with a little white space
_WORD = re.compile(r"[-+.\w]+")
_MAX_BRACKETS = 4


def find_answer_start(text: str, start: int, *, is_final: bool) -> tuple[int, bool | None]:
    """Find the bracket or brace at which the answer begins, and whether it surely does; the end, if there is none."""
    while mark := _OPENING_BRACKET.search(text, start):
        start = mark.start()
        found = is_answer_start(text, start)
        if found is None and is_final:
            found = _is_at_text_start(text, start)
        if found is not False:
            return start, found
        start += 1
    return len(text), False


def is_answer_start(text: str, at: int) -> bool | None:
    """Tell whether the answer begins at this bracket or brace, and is not prose with a bracket in it.

    Objects make an array wherever it stands. Strings make one only at the start of a line, an empty one is alone on
    its line, and numbers and literals come first only where nothing stands before them: prose has "[1]", "[ ]" and
    quoted lists. An object without an array has a type, or stands at the start of a line.
    """
    return _opens_object(text, at) if text[at] == "{" else _opens_array(text, at)


def _opens_array(text: str, at: int) -> bool | None:
    first = inner = find_next_token(text, at + 1)
    for _ in range(_MAX_BRACKETS):
        if inner is not None and text[inner] == "[":
            inner = find_next_token(text, inner + 1)
    if inner is None:
        return None
    mark = text[inner]
    if mark == "{":
        return is_object_start(text, inner)
    if not _begins_line(text, at):
        return False
    if mark in "[]":
        return (inner != first and _is_at_text_start(text, at)) or _ends_line(text, inner)
    return mark in QUOTES or (_is_at_text_start(text, at) and _begins_with_scalar(text, inner))


def _opens_object(text: str, at: int) -> bool | None:
    if _begins_line(text, at):
        first = find_next_token(text, at + 1)
        if first is None:
            return None
        return is_member_start(text, first, has_unquoted_keys=True) if text[first] not in "{}]" else False
    if _TYPED_OBJECT.match(text, at, at + _TYPED_OBJECT_LENGTH):
        return True
    return None if len(text) - at < _TYPED_OBJECT_LENGTH else False


def _begins_with_scalar(text: str, at: int) -> bool | None:
    word = _WORD.match(text, at)
    if word is None:
        return False
    after = find_next_token(text, word.end())
    if after is None:
        return None
    if not SCALAR_START.match(text, at):
        return False
    return text[after] == "," or (text[after] == "]" and _ends_line(text, after))


def _begins_line(text: str, at: int) -> bool:
    return _FENCE.fullmatch(text, text.rfind("\n", 0, at) + 1, at) is not None


def _is_at_text_start(text: str, at: int) -> bool:
    return _FENCE.fullmatch(text, 0, at) is not None


def _ends_line(text: str, at: int) -> bool | None:
    rest = text[at + 1 :].lstrip(" \t\r")
    return rest[0] in "\n`" if rest else None
