"""Marks that are open in running text: brackets, quotes and half a tag, inside which no line or sentence ends."""

import re

_CLOSING = {
    "(": ")",
    "[": "]",
    "{": "}",
    "“": "”",
    "‘": "’",
    "«": "»",
    "「": "」",
    "『": "』",
    "（": "）",
    "【": "】",
    "《": "》",
}
_PLAIN_CLOSING = frozenset(")]}")  # intervals mix them: [0, 1)
_CLOSERS = frozenset(_CLOSING.values())
_OPENS_QUOTE = re.compile(r"[\s(\[{*_—–:>“-]?")
_FACES = frozenset(":;='")  # before a bracket: the mouth of a face
_DEEPEST = 32
LONGEST_TAG = 100  # characters in which half a tag must close

CHARACTERS = "".join({*_CLOSING, *_CLOSERS, '"', "<", ">"})


class Marks:
    """Follows the marks of a text; it is only shown those characters that can be one."""

    def __init__(self) -> None:
        self._awaited: list[str] = []
        self._tag_from: int | None = None

    def open_at(self, place: int) -> bool:
        return bool(self._awaited) or self.in_tag(place)

    def in_tag(self, place: int) -> bool:
        return self._tag_from is not None and place - self._tag_from <= LONGEST_TAG

    def see(self, char: str, before: str, place: int) -> None:
        """Take in a mark at this place of the text, and the character before it."""
        if char == "<":
            self._tag_from = place
        elif char == ">":
            self._tag_from = None
        elif char == '"':
            self._quote(before)
        elif char in _CLOSING:
            if before not in _FACES and len(self._awaited) < _DEEPEST:
                self._awaited.append(_CLOSING[char])
        elif char in self._awaited:
            self._close(char)
        elif char in _PLAIN_CLOSING and self._awaited and self._awaited[-1] in _PLAIN_CLOSING:
            self._awaited.pop()

    def no_tag(self) -> None:
        """What looked like the beginning of a tag was none."""
        self._tag_from = None

    def _quote(self, before: str) -> None:
        if '"' in self._awaited:
            self._close('"')
        elif _OPENS_QUOTE.fullmatch(before):
            self._awaited.append('"')

    def _close(self, char: str) -> None:
        while self._awaited.pop() != char:
            pass
