"""Detection of the JSON array in a response, as opposed to prose with brackets.

Functions return None where the buffer is too short to decide.
"""

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
_TYPED_OBJECT_LENGTH = len('{"type":') + 8  # allows some whitespace
_WORD = re.compile(r"[-+.\w]+")
_MAX_BRACKETS = 4


def find_answer_start(text: str, start: int, *, is_final: bool) -> tuple[int, bool | None]:
    """Return the index of the opening bracket or brace, and whether the JSON begins there.

    Without a match, return the length of the text and False. `is_final`: no more text follows.
    """
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
    """Distinguish JSON from prose such as "[1]", "[ ]" and quoted lists.

    An array of objects may begin anywhere, an array of strings only at a line start.
    An empty array must be alone on its line. Numbers and literals count only at the start of the text.
    An object without an array needs a "type" key or a line start.
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
