"""Speakers' labels, such as `Beta:` or `**[Beta]**:`, which models put before what they say."""

import re
from collections.abc import Collection

_OPENING, _CLOSING = r"[*_]{0,3}[\[<]?[*_]{0,3}@?", r"[*_]{0,3}[\]>]?[*_]{0,3}"
_BLANK = r"[ \t]{0,8}"


class Labels:
    """The labels of these speakers, however they are dressed up."""

    def __init__(self, names: Collection[str]) -> None:
        longest_first = sorted(filter(None, names), key=len, reverse=True)
        either = "|".join(re.escape(name) for name in longest_first) or r"(?!)"
        label = rf"{_BLANK}{_OPENING}({either}){_CLOSING}{_BLANK}[:\uff1a][*_]{{0,3}}(?!//){_BLANK}"
        self._leading = re.compile(rf"\s*{label}", re.IGNORECASE)
        self._on_later_line = re.compile(rf"\n{label}", re.IGNORECASE)

    def leading(self, text: str) -> str | None:
        """Return the name whose label this text begins with."""
        found = self._leading.match(text)
        return found[1] if found else None

    def stripped(self, text: str) -> str:
        """Return the text without a label at its start."""
        return self._leading.sub("", text, count=1) if self._leading.match(text) else text

    def before_later(self, text: str) -> str | None:
        """Return what comes before a line, other than the first, that begins with a label; None without one."""
        found = self._on_later_line.search(text)
        return text[: found.start() + 1] if found else None
