"""What a mark in a damaged JSON array means, told by the few characters after it.

Each answer is `None` while those characters leave it open, and never changes once it is given: so it is the same
however the input was cut.
"""

import re

WINDOW = 64  # characters after a mark that may decide about it
QUOTES = "\"'"
_GAP = re.compile(r"(?:\s+|//[^\n]*\n|/\*.*?\*/)*", re.DOTALL)
_KEY = {quote: re.compile(rf"{quote}(?:[^{quote}\\\x00-\x1f]+|\\.)*", re.DOTALL) for quote in QUOTES}
_PLAIN_KEY = re.compile(r"[\"'][\w-]{0,40}")
_NAME = re.compile(r"[^\W\d]\w{0,40}")
_SCALAR = re.compile(r"-?[0-9]|(?:true|false|null|True|False|None|NaN)\b")
_LONGEST_LITERAL = 6  # "false" and the character that ends it
_FENCE = re.compile(r"\s*(?:`{3,}\w*\s*)?")
_TYPED = re.compile(r"\{\s*[\"']type[\"']\s*:")
_TYPED_LENGTH = len('{"type":') + 8  # with a little white space
_MOST_BRACKETS = 4
_NUMBERS = re.compile(r"[-+.\w]+")


def solid(text: str, at: int) -> int | None:
    """Find the next character that is neither white space nor comment."""
    gap = _GAP.match(text, at)
    end = gap.end() if gap else at
    if end == len(text) or (text[end] == "/" and text[end + 1 : end + 2] in ("", "/", "*")):
        return None
    return end


def opens(text: str, at: int, *, last: bool) -> bool | None:
    """Tell whether the answer begins at this bracket or brace, and is not prose with a bracket in it.

    Objects make an array wherever it stands. Strings make one only at the start of a line, an empty one is alone on
    its line, and numbers and literals come first only where nothing stands before them: prose has "[1]", "[ ]" and
    quoted lists. An object without an array has a type, or stands at the start of a line.
    """
    found = _opens_object(text, at) if text[at] == "{" else _opens_array(text, at)
    return _nothing_before(text, at) if found is None and last else found


def _opens_array(text: str, at: int) -> bool | None:
    inner = solid(text, at + 1)
    for _ in range(_MOST_BRACKETS):
        if inner is not None and text[inner] == "[":
            inner = solid(text, inner + 1)
    if inner is None:
        return None
    mark = text[inner]
    if mark == "{":
        return _begins_object(text, inner)
    if not _begins_line(text, at):
        return False
    if mark == "]":
        return _ends_line(text, inner)
    return mark in QUOTES or (_nothing_before(text, at) and _begins_with_scalar(text, inner))


def ends(rest: str, inside: str, around: str, *, doubt: bool, named: bool, last: bool) -> bool | None:
    """Tell whether a quote ends its string, by the `rest` after it, as yes if that is all and leaves it open.

    The string stands `inside` an object "{", an array "[" or the answer itself "", and that stands `around`.
    `doubt` says that this may well be the second quote of a pair that should have been escaped; `named` that keys
    are written without quotes.
    """
    found = _ends(rest, inside, around, doubt=doubt, named=named)
    if found is None and last:
        return inside != "{" or not rest.lstrip().startswith(
            tuple(QUOTES)
        )  # half a key shows no lack of a comma
    return found


def _ends(rest: str, inside: str, around: str, *, doubt: bool, named: bool) -> bool | None:
    at = solid(rest, 0)
    if at is None:
        return None
    mark = rest[at]
    if mark in "}]":
        return not doubt or _leaves(rest, at, around)
    if mark == ",":
        return _member(rest, at + 1, named=named) if inside == "{" else _value(rest, at + 1)
    if mark in QUOTES:  # a comma was forgotten
        return _colon_after(rest, _PLAIN_KEY, at, mark) if inside == "{" else at > 0
    return _begins_object(rest, at) if mark == "{" and inside != "{" else False


def _member(text: str, at: int, *, named: bool) -> bool | None:
    """Whether a member of an object follows a comma, or what comes where one was forgotten."""
    start = solid(text, at)
    if start is None:
        return None
    mark = text[start]
    if mark in QUOTES:
        return _colon_after(text, _KEY[mark], start, mark)
    if mark == "{":
        return _begins_object(text, start)
    if mark in "}]":
        return True
    return _colon_after(text, _NAME, start, "") if named else False


def _value(text: str, at: int) -> bool | None:
    start = solid(text, at)
    if start is None:
        return None
    if text[start] in "{[]}\"'" or _SCALAR.match(text, start):
        return True
    return None if len(text) - start < _LONGEST_LITERAL else False


def _leaves(text: str, at: int, around: str) -> bool | None:
    """Whether a bracket that closes is one of ours, by what comes after it."""
    after = solid(text, at + 1)
    if after is None:
        return None
    mark = text[after]
    if mark == ",":
        return _member(text, after + 1, named=False) if around == "{" else _value(text, after + 1)
    if mark == "{":
        return around != "{"
    return mark in "}]`" or (text[at] == "]" and "\n" in text[at:after])


def _colon_after(text: str, key: re.Pattern[str], at: int, quote: str) -> bool | None:
    found = key.match(text, at)
    if found is None:
        return False
    end = found.end()
    if end >= len(text) - (text[-1:] == "\\"):
        return None
    if not text.startswith(quote, end):
        return False
    colon = solid(text, end + len(quote))
    return None if colon is None else text[colon] == ":"


def _begins_object(text: str, at: int) -> bool | None:
    first = solid(text, at + 1)
    if first is None:
        return None
    return text[first] in "\"'}" or _colon_after(text, _NAME, first, "")


def _opens_object(text: str, at: int) -> bool | None:
    if _begins_line(text, at):
        first = solid(text, at + 1)
        if first is None:
            return None
        return _member(text, first, named=True) if text[first] not in "{}]" else False
    if _TYPED.match(text, at, at + _TYPED_LENGTH):
        return True
    return None if len(text) - at < _TYPED_LENGTH else False


def _begins_with_scalar(text: str, at: int) -> bool | None:
    word = _NUMBERS.match(text, at)
    if word is None:
        return False
    after = solid(text, word.end())
    if after is None:
        return None
    if not _SCALAR.match(text, at):
        return False
    return text[after] == "," or (text[after] == "]" and _ends_line(text, after))


def _begins_line(text: str, at: int) -> bool:
    return _FENCE.fullmatch(text, text.rfind("\n", 0, at) + 1, at) is not None


def _nothing_before(text: str, at: int) -> bool:
    return _FENCE.fullmatch(text, 0, at) is not None


def _ends_line(text: str, at: int) -> bool | None:
    rest = text[at + 1 :].lstrip(" \t\r")
    return rest[0] in "\n`" if rest else None
