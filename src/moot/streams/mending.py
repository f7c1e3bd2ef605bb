"""What models write inside JSON, valid or not: escapes as characters, bare words as values."""

import re

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
