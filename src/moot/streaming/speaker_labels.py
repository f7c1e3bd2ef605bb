"""Filter that removes speaker labels such as `Name:` from streamed text.

Models copy the labels of the transcript. Some even write the message of another participant.
"""

import re
from collections.abc import Collection

from msgspec import Struct

_LABEL_OPENING, _LABEL_CLOSING = r"[*_]{0,3}[\[<]?[*_]{0,3}@?", r"[*_]{0,3}[\]>]?[*_]{0,3}"
_BLANK = r"[ \t]{0,8}"


class SpeakerLabels:
    """Regexes for labels with these names, also in brackets or Markdown emphasis: `**[Name]**:`."""

    def __init__(self, names: Collection[str]) -> None:
        longest_first = sorted(filter(None, names), key=len, reverse=True)
        either = "|".join(re.escape(name) for name in longest_first) or r"(?!)"
        label = rf"{_BLANK}{_LABEL_OPENING}({either}){_LABEL_CLOSING}{_BLANK}[:\uff1a][*_]{{0,3}}(?!//){_BLANK}"
        self._leading_label = re.compile(rf"\s*{label}", re.IGNORECASE)
        self._later_label = re.compile(rf"\n{label}", re.IGNORECASE)

    def leading_name(self, text: str) -> str | None:
        found = self._leading_label.match(text)
        return found[1] if found else None

    def strip_label(self, text: str) -> str:
        return self._leading_label.sub("", text, count=1) if self._leading_label.match(text) else text

    def text_before_later_label(self, text: str) -> str | None:
        """Return the text before the first label at a line start, or None without one. Ignores the first line."""
        found = self._later_label.search(text)
        return text[: found.start() + 1] if found else None


MAX_BUFFERED_CHARS = 400
_CHARS_BEFORE_NAME, _CHARS_AFTER_NAME = frozenset("*_[<@"), frozenset("*_]> \t:\uff1a")
_MAX_CHARS_BEFORE_NAME = 8


class SpeakerNames(Struct, frozen=True):
    own: str  # the participant that answers
    others: Collection[str] = ()  # the other participants


class SpeakerLabelFilter:
    """Removes labels from the start of one streamed answer, in chunks of any size.

    With `strict`, a label of another participant sets `impersonated`, and no text is released.
    The filter buffers text only while it can still become a label.
    """

    def __init__(self, names: SpeakerNames, *, strict: bool) -> None:
        all_names = [name for name in (names.own, *names.others) if name]
        self._own_name = names.own.casefold()
        self._names = {name.casefold() for name in all_names}
        self._labels = SpeakerLabels(all_names)
        self._strict = strict
        self._buffer = ""
        self._label_decided = False
        self._released_parts: list[str] = []
        self.impersonated: str | None = None  # the other name in the leading label

    @property
    def text(self) -> str:
        """All text released so far."""
        return "".join(self._released_parts)

    def feed(self, text: str) -> str:
        """Return the text that can be released now. It may be empty."""
        position = 0
        while not self._label_decided and position < len(text):
            self._buffer += text[position]
            self._check_labels(is_final=False)
            position += 1
        return self._release_text(text[position:]) if self._label_decided else ""

    def close(self) -> str:
        """Flush the buffer at the end of the stream."""
        if not self._label_decided:
            self._check_labels(is_final=True)
            self._label_decided = True
        return self._release_text("")

    def reset_filter(self) -> None:
        """Discard all state, for example when earlier text turns out to be reasoning."""
        self._buffer, self._label_decided, self.impersonated = "", False, None
        self._released_parts.clear()

    def _release_text(self, more: str) -> str:
        released = "" if self.impersonated else self._buffer + more
        self._buffer = ""
        self._released_parts.append(released)
        return released

    def _check_labels(self, *, is_final: bool) -> None:
        """Strip complete labels from the buffer; decide whether the rest can still become a label."""
        while (name := self._labels.leading_name(self._buffer)) is not None:
            rest = self._labels.strip_label(self._buffer).lstrip()
            if not is_final and rest in {"", "/"}:  # more of the label may follow, or a URL
                break
            if self._strict and name.casefold() != self._own_name:
                self.impersonated, self._label_decided = name, True
                return
            self._buffer = rest
        self._label_decided = len(self._buffer) > MAX_BUFFERED_CHARS or not self._may_become_label()

    def _may_become_label(self) -> bool:
        text = self._buffer.lstrip().casefold()
        for start in range(min(len(text), _MAX_CHARS_BEFORE_NAME) + 1):
            if start and text[start - 1] not in _CHARS_BEFORE_NAME:
                return False
            if any(_is_name_prefix(text[start:], name) for name in self._names):
                return True
        return False


def _is_name_prefix(text: str, name: str) -> bool:
    """True for the start of a name, and for a name followed only by characters of a label."""
    return name.startswith(text) or (
        text.startswith(name) and _CHARS_AFTER_NAME.issuperset(text.removeprefix(name).rstrip("/\n"))
    )
