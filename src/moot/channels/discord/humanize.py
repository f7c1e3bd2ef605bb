"""Writing as people do in a chat: in lower case, without commas and semicolons."""

import re
from collections.abc import Collection

from moot.channels.discord.spans import outside

_KEPT = re.compile(
    r"(?:\w{2,12}://|www\.)\S*[^\s.,;:!?)]|<[^<>\s]{1,80}>|(?<![\w.+-])[\w.+-]{1,64}@[\w.-]{1,64}"
)
_WORD = re.compile(r"[^\W\d_](?:[\w'’.-]*\w)?")
_COMMA = re.compile(r"[,;](?=\s|\Z)")
_TIGHT_COMMA = re.compile(r"(?<=[^\W\d_])[,;](?=[^\W\d_])|[\uff0c\uff1b]")


class Humanizer:
    """Keeps acronyms, code, addresses and these names as they are."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(word for name in names for word in _WORD.findall(name))

    def humanized(self, text: str) -> str:
        return outside(self._humanized, text)

    def _humanized(self, text: str) -> str:
        told, place = [], 0
        for kept in _KEPT.finditer(text):
            told += [self._loosened(text[place : kept.start()]), kept[0]]
            place = kept.end()
        return "".join([*told, self._loosened(text[place:])])

    def _loosened(self, text: str) -> str:
        return _WORD.sub(self._lowered, _TIGHT_COMMA.sub(" ", _COMMA.sub("", text)))

    def _lowered(self, found: re.Match[str]) -> str:
        word = found[0]
        kept = word in self._names or word[1:] != word[1:].lower()
        return word if kept else word.lower()
