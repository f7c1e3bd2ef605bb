"""Repair of invalid JSON from models: unescaped quotes, escapes, literals.

Functions return None where the buffer is too short to decide.
"""

import re

LOOKAHEAD_CHARS = 64  # after a quote or bracket, to decide what it means
QUOTES = "\"'"
_WHITESPACE_OR_COMMENT = re.compile(r"(?:\s+|//[^\n]*\n|/\*.*?\*/)*", re.DOTALL)
_CLOSING_BRACKETS = {"{": "}", "[": "]", "": "]"}
_QUOTED_KEY = {quote: re.compile(rf"{quote}(?:[^{quote}\\\x00-\x1f]+|\\.)*", re.DOTALL) for quote in QUOTES}
_SIMPLE_QUOTED_KEY = re.compile(r"[\"'][\w-]{0,40}")
_KEY_START = re.compile(r"\s*[\"']")
_QUOTE_BEFORE_BRACKET = re.compile(r"\s*,\s*[\"']\s*[}\]]")
_AFTER_CLOSING_QUOTE = re.compile(r"[\s,.;:!?)\]}\"']")
_UNQUOTED_KEY = re.compile(r"[^\W\d]\w{0,40}")
SCALAR_START = re.compile(r"-?[0-9]|(?:true|false|null|True|False|None|NaN)(?=\W)")
_MAX_LITERAL_CHARS = 6  # "false" and the character that ends it


def find_next_token(text: str, at: int) -> int | None:
    """Return the index of the next character after whitespace and comments."""
    gap = _WHITESPACE_OR_COMMENT.match(text, at)
    end = gap.end() if gap else at
    if end == len(text) or (text[end] == "/" and text[end + 1 : end + 2] in ("", "/", "*")):
        return None
    return end


def opens_quote_pair(before: str, rest: str) -> bool:
    """True if an unescaped quote inside a string opens a pair, judged by the characters around it."""
    return not before.isalnum() and not _AFTER_CLOSING_QUOTE.match(rest)


def quote_ends_string(
    rest: str, path: str, *, has_unpaired_quote: bool, has_unquoted_keys: bool, is_final: bool
) -> bool | None:
    """Decide whether a quote ends its string, by the text after it.

    `rest`: the text after the quote.
    `path`: brackets of the open objects and arrays, innermost first; may be empty.
    `has_unpaired_quote`: this is probably the second quote of an unescaped pair.
    `is_final`: no more text follows, so guess instead of returning None.
    """
    found = _decide_quote_end(rest, path, has_unpaired_quote=has_unpaired_quote, has_unquoted_keys=has_unquoted_keys)
    return _guess_quote_end(rest, path) if found is None and is_final else found


def _guess_quote_end(rest: str, path: str) -> bool:
    """In an array the quote ends the string.

    In an object it does not if a quote follows without a comma, as in `"a "b" c"`.
    The same holds if a later quote precedes the closing brackets.
    """
    if path[:1] != "{":
        return True
    return not _KEY_START.match(rest) and (len(rest) == LOOKAHEAD_CHARS or not _QUOTE_BEFORE_BRACKET.match(rest))


def _decide_quote_end(rest: str, path: str, *, has_unpaired_quote: bool, has_unquoted_keys: bool) -> bool | None:
    at = find_next_token(rest, 0)
    if at is None:
        return None
    mark, in_object = rest[at], path[:1] == "{"
    if mark in "}]":
        return not has_unpaired_quote or _closes_open_brackets(rest, at, path)
    if mark == ",":
        if has_unpaired_quote:
            return False
        return (
            is_member_start(rest, at + 1, has_unquoted_keys=has_unquoted_keys)
            if in_object
            else _is_value_start(rest, at + 1)
        )
    if mark in QUOTES:  # the comma is missing
        return _has_colon_after_key(rest, _SIMPLE_QUOTED_KEY, at, mark) if in_object else at > 0
    return is_object_start(rest, at) if mark == "{" and not in_object else False


def is_member_start(text: str, at: int, *, has_unquoted_keys: bool) -> bool | None:
    """True if an object member follows, or a token that is likely after a trailing comma."""
    start = find_next_token(text, at)
    if start is None:
        return None
    mark = text[start]
    if mark in QUOTES:
        return _has_colon_after_key(text, _QUOTED_KEY[mark], start, mark)
    if mark == "{":
        return is_object_start(text, start)
    if mark in "}]":
        return True
    return _has_colon_after_key(text, _UNQUOTED_KEY, start, "") if has_unquoted_keys else False


def _is_value_start(text: str, at: int) -> bool | None:
    start = find_next_token(text, at)
    if start is None:
        return None
    if text[start] in "{[]}\"'" or SCALAR_START.match(text, start):
        return True
    return None if len(text) - start < _MAX_LITERAL_CHARS else False


def _closes_open_brackets(text: str, at: int, path: str) -> bool | None:
    """True if the closing brackets match `path` and a valid token follows them."""
    for level in range(len(path) + 1):
        if text[at] != _CLOSING_BRACKETS[path[level : level + 1]]:
            return False
        after = find_next_token(text, at + 1)
        if after is None:
            return None
        if text[after] not in "}]":
            return _continues_after_bracket(text, at + 1, after, path[level + 1 :])
        at = after
    return False


def _continues_after_bracket(text: str, gap: int, at: int, path: str) -> bool | None:
    mark, in_object = text[at], path[:1] == "{"
    if mark == ",":
        return is_member_start(text, at + 1, has_unquoted_keys=False) if in_object else _is_value_start(text, at + 1)
    if mark == "{":
        return not in_object
    return not path and (mark == "`" or "\n" in text[gap:at])


def _has_colon_after_key(text: str, key: re.Pattern[str], at: int, quote: str) -> bool | None:
    found = key.match(text, at)
    if found is None:
        return False
    end = found.end()
    if end >= len(text) - (text[-1:] == "\\"):
        return None
    if not text.startswith(quote, end):
        return False
    colon = find_next_token(text, end + len(quote))
    return None if colon is None else text[colon] == ":"


def is_object_start(text: str, at: int) -> bool | None:
    first = find_next_token(text, at + 1)
    if first is None:
        return None
    return text[first] in "\"'}" or _has_colon_after_key(text, _UNQUOTED_KEY, first, "")


REPLACEMENT_CHARACTER = "\ufffd"  # replaces a lone surrogate
_ESCAPES = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX = re.compile(r"[0-9a-fA-F]{0,4}")
_LOW_SURROGATE_ESCAPE = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_PARTIAL_LOW_SURROGATE = re.compile(r"\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_INTEGER = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_LITERALS = {"true": True, "True": True, "false": False, "False": False} | dict.fromkeys(
    ("null", "None", "undefined", "NaN", "nan", "Infinity", "-Infinity")
)

Scalar = str | int | float | bool | None


def replace_surrogates(text: str) -> str:
    return text if text.isascii() else _SURROGATE.sub(REPLACEMENT_CHARACTER, text)


def parse_escape(text: str, at: int, *, is_final: bool) -> tuple[str, int] | None:
    """Return the decoded string and the index after it. None if the escape may be incomplete.

    An invalid escape keeps its backslash, because models write LaTeX.
    """
    letter = text[at + 1 : at + 2]
    if known := _ESCAPES.get(letter):
        return known, at + 2
    if not letter:
        return ("", at + 1) if is_final else None
    return _parse_unicode_escape(text, at, is_final=is_final) if letter == "u" else ("\\", at + 1)


def _parse_unicode_escape(text: str, at: int, *, is_final: bool) -> tuple[str, int] | None:
    digits = _HEX.match(text, at + 2)
    end = digits.end() if digits else at
    if end < at + 6:
        if end < len(text):
            return "\\", at + 1
        return ("", end) if is_final else None
    code = int(text[at + 2 : end], 16)
    if not 0xD800 <= code < 0xE000:
        return chr(code), end
    return _parse_surrogate_pair(text, code, end, is_final=is_final) if code < 0xDC00 else (REPLACEMENT_CHARACTER, end)


def _parse_surrogate_pair(text: str, high: int, end: int, *, is_final: bool) -> tuple[str, int] | None:
    if low := _LOW_SURROGATE_ESCAPE.match(text, end):
        return chr(0x10000 + ((high - 0xD800) << 10) + int(low[1], 16) - 0xDC00), end + 6
    rest = text[end : end + 6]
    if not is_final and (not rest or _PARTIAL_LOW_SURROGATE.fullmatch(rest)):
        return None
    return REPLACEMENT_CHARACTER, end


def parse_scalar(word: str) -> Scalar:
    """Parse an unquoted value. A word that is not a JSON or Python literal becomes a string."""
    if word in _LITERALS:
        return _LITERALS[word]
    if not _NUMBER.fullmatch(word):
        return word
    try:
        return int(word) if _INTEGER.fullmatch(word) else float(word)
    except ValueError:  # too many digits for int()
        return float(word)
