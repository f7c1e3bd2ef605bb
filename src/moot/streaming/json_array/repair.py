"""Repairs broken JSON in a stream: quotes, escapes, literals."""

import re

WINDOW = 64  # characters after a mark that may decide about it
QUOTES = "\"'"
_GAP = re.compile(r"(?:\s+|//[^\n]*\n|/\*.*?\*/)*", re.DOTALL)
_CLOSING = {"{": "}", "[": "]", "": "]"}
_KEY = {quote: re.compile(rf"{quote}(?:[^{quote}\\\x00-\x1f]+|\\.)*", re.DOTALL) for quote in QUOTES}
_PLAIN_KEY = re.compile(r"[\"'][\w-]{0,40}")
_HALF_KEY = re.compile(r"\s*[\"']")
_LAST_QUOTE = re.compile(r"\s*,\s*[\"']\s*[}\]]")
_AFTER_PAIR = re.compile(r"[\s,.;:!?)\]}\"']")
_NAME = re.compile(r"[^\W\d]\w{0,40}")
SCALAR = re.compile(r"-?[0-9]|(?:true|false|null|True|False|None|NaN)(?=\W)")
_LONGEST_LITERAL = 6  # "false" and the character that ends it


def solid(text: str, at: int) -> int | None:
    """Find the next character that is neither white space nor comment."""
    gap = _GAP.match(text, at)
    end = gap.end() if gap else at
    if end == len(text) or (text[end] == "/" and text[end + 1 : end + 2] in ("", "/", "*")):
        return None
    return end


def begins_pair(before: str, rest: str) -> bool:
    """Tell whether a quote that ends no string is the first of a pair, by what stands on both sides of it."""
    return not before.isalnum() and not _AFTER_PAIR.match(rest)


def ends(rest: str, path: str, *, doubt: bool, named: bool, last: bool) -> bool | None:
    """Tell whether a quote ends its string, by the `rest` after it, as yes if that is all and leaves it open.

    The string stands in what is open on its `path`, innermost first: objects "{" and arrays "[" of an item, or none.
    `doubt` says that this is likely the second quote of a pair that should have been escaped; `named` that keys are
    written without quotes.
    """
    found = _ends(rest, path, doubt=doubt, named=named)
    return _ends_if_open(rest, path) if found is None and last else found


def _ends_if_open(rest: str, path: str) -> bool:
    """Take half a member for one, unless no comma is before it, or it is rather the quote before the last brackets."""
    if path[:1] != "{":
        return True
    return not _HALF_KEY.match(rest) and (len(rest) == WINDOW or not _LAST_QUOTE.match(rest))


def _ends(rest: str, path: str, *, doubt: bool, named: bool) -> bool | None:
    at = solid(rest, 0)
    if at is None:
        return None
    mark, in_object = rest[at], path[:1] == "{"
    if mark in "}]":
        return not doubt or _leaves(rest, at, path)
    if mark == ",":
        if doubt:
            return False
        return member(rest, at + 1, named=named) if in_object else _value(rest, at + 1)
    if mark in QUOTES:  # a comma was forgotten
        return _colon_after(rest, _PLAIN_KEY, at, mark) if in_object else at > 0
    return begins_object(rest, at) if mark == "{" and not in_object else False


def member(text: str, at: int, *, named: bool) -> bool | None:
    """Whether a member of an object follows a comma, or what comes where one was forgotten."""
    start = solid(text, at)
    if start is None:
        return None
    mark = text[start]
    if mark in QUOTES:
        return _colon_after(text, _KEY[mark], start, mark)
    if mark == "{":
        return begins_object(text, start)
    if mark in "}]":
        return True
    return _colon_after(text, _NAME, start, "") if named else False


def _value(text: str, at: int) -> bool | None:
    start = solid(text, at)
    if start is None:
        return None
    if text[start] in "{[]}\"'" or SCALAR.match(text, start):
        return True
    return None if len(text) - start < _LONGEST_LITERAL else False


def _leaves(text: str, at: int, path: str) -> bool | None:
    """Whether brackets that close are our own: those of the path, and then what may come there."""
    for level in range(len(path) + 1):
        if text[at] != _CLOSING[path[level : level + 1]]:
            return False
        after = solid(text, at + 1)
        if after is None:
            return None
        if text[after] not in "}]":
            return _goes_on(text, at + 1, after, path[level + 1 :])
        at = after
    return False


def _goes_on(text: str, gap: int, at: int, path: str) -> bool | None:
    mark, in_object = text[at], path[:1] == "{"
    if mark == ",":
        return member(text, at + 1, named=False) if in_object else _value(text, at + 1)
    if mark == "{":
        return not in_object
    return not path and (mark == "`" or "\n" in text[gap:at])


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


def begins_object(text: str, at: int) -> bool | None:
    first = solid(text, at + 1)
    if first is None:
        return None
    return text[first] in "\"'}" or _colon_after(text, _NAME, first, "")


LOST = "\ufffd"  # stands for half a surrogate pair
_ESCAPES = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX = re.compile(r"[0-9a-fA-F]{0,4}")
_LOW_HALF = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_SOME_OF_LOW_HALF = re.compile(r"\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_WHOLE_NUMBER = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_LITERALS = {"true": True, "True": True, "false": False, "False": False} | dict.fromkeys(
    ("null", "None", "undefined", "NaN", "nan", "Infinity", "-Infinity")
)

Scalar = str | int | float | bool | None


def without_surrogates(text: str) -> str:
    return text if text.isascii() else _SURROGATE.sub(LOST, text)


def escape(text: str, at: int, *, last: bool) -> tuple[str, int] | None:
    """Read the escape at this backslash, and where to go on; `None` if more of it may come.

    A backslash that begins no escape is kept: models write LaTeX.
    """
    letter = text[at + 1 : at + 2]
    if known := _ESCAPES.get(letter):
        return known, at + 2
    if not letter:
        return ("", at + 1) if last else None
    return _unicode(text, at, last=last) if letter == "u" else ("\\", at + 1)


def _unicode(text: str, at: int, *, last: bool) -> tuple[str, int] | None:
    digits = _HEX.match(text, at + 2)
    end = digits.end() if digits else at
    if end < at + 6:
        if end < len(text):
            return "\\", at + 1
        return ("", end) if last else None
    code = int(text[at + 2 : end], 16)
    if not 0xD800 <= code < 0xE000:
        return chr(code), end
    return _pair(text, code, end, last=last) if code < 0xDC00 else (LOST, end)


def _pair(text: str, high: int, end: int, *, last: bool) -> tuple[str, int] | None:
    if low := _LOW_HALF.match(text, end):
        return chr(0x10000 + ((high - 0xD800) << 10) + int(low[1], 16) - 0xDC00), end + 6
    rest = text[end : end + 6]
    if not last and (not rest or _SOME_OF_LOW_HALF.fullmatch(rest)):
        return None
    return LOST, end


def scalar(word: str) -> Scalar:
    """Read what stands without quotes; a word that is no literal of JSON or Python is a string."""
    if word in _LITERALS:
        return _LITERALS[word]
    if not _NUMBER.fullmatch(word):
        return word
    try:
        return int(word) if _WHOLE_NUMBER.fullmatch(word) else float(word)
    except ValueError:  # more digits than an integer may have
        return float(word)
