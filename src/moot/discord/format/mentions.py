"""Replaces names in text by Discord mentions of channel members."""

import re
from collections import defaultdict
from collections.abc import Collection
from functools import cached_property

from msgspec import Struct

from moot.discord.format.boundaries import outside

LONGEST_NAME = 32  # as Discord has it
_AT = "[@\uff20]"
_WRAPPED = rf"<{_AT}[!&]?\{{?(?P<angled>[^<>\n{{}}]{{1,80}})\}}?>|{_AT}\{{(?P<braced>[^{{}}\n]{{1,80}})\}}"
_QUOTED = rf'{_AT}\[(?P<bracketed>[^\[\]\n]{{1,40}})\]|{_AT}"(?P<quoted>[^"\n]{{1,40}})"'
_PLAIN = rf"(?<![\w/]){_AT}(?!\s)(?=(?P<ahead>[^\n]{{0,{LONGEST_NAME + 1}}}))"
_MENTION = re.compile(f"{_WRAPPED}|{_QUOTED}|{_PLAIN}")
ALL = ("everyone", "here")
_MENTIONS_ALL = re.compile(rf"{_AT}(?={'|'.join(ALL)}|\Z)", re.IGNORECASE)
_RAW = re.compile(r"(?<=<)@(?=[!&]?\d)")
_UNSPACED = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # scripts that put no space after a name
_GOES_ON = re.compile(rf"[^\W{_UNSPACED}]|[.-]\w")  # after a name: it is part of another
_HIDDEN = "@\u200b"  # no longer a mention, and looks the same


class Member(Struct, frozen=True):
    """Somebody who can be mentioned; the names are those by which a text may call them."""

    id: str
    names: tuple[str, ...]


class Mentions:
    def __init__(self, members: Collection[Member]) -> None:
        self._members = members

    def resolved(self, text: str) -> str:
        """Turn names into mentions, outside code."""
        if "@" not in text and "\uff20" not in text:
            return text
        return outside(self._resolved, text, inside=_shown_only)

    @cached_property
    def _ids(self) -> dict[str, set[str]]:
        ids: dict[str, set[str]] = defaultdict(set)
        for member in self._members:
            for name in member.names:
                ids[name.casefold()].add(member.id)
        return ids

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(member.id for member in self._members)

    def _resolved(self, text: str) -> str:
        told, place = [], 0
        while found := _MENTION.search(text, place):
            told.append(text[place : found.start()])
            wrapped = found["angled"] or found["braced"] or found["bracketed"] or found["quoted"]
            name = self._wrapped(wrapped) if wrapped else self._plain(found["ahead"])
            told.append(self._mention(name) or name)
            place = found.end() + (0 if wrapped else len(name))
        return _hidden("".join([*told, text[place:]]))

    def _wrapped(self, who: str) -> str:
        """Return by what somebody is named: the id if it is a member's, else the name."""
        name, _, id = who.rpartition("|")
        return id.strip() if id.strip() in self._known else (name or id).strip("@\uff20 ")

    def _plain(self, ahead: str) -> str:
        """Return the longest name that is written here, or nothing."""
        for size in range(min(len(ahead), LONGEST_NAME), 0, -1):
            name = ahead[:size]
            if (name in self._known or name.casefold() in self._ids) and not _GOES_ON.match(ahead, size):
                return name
        return ""

    def _mention(self, name: str) -> str | None:
        ids = {name} if name in self._known else self._ids.get(name.casefold(), set())
        return f"<@{next(iter(ids))}>" if len(ids) == 1 and name.lower() not in ALL else None


def _hidden(text: str) -> str:
    return _MENTIONS_ALL.sub(_HIDDEN, text)


def _shown_only(code: str) -> str:
    """Keep what is in a span from being a mention, should it be shown without its backticks."""
    return _hidden(_RAW.sub(_HIDDEN, code))


class Room(Struct, frozen=True, kw_only=True):
    """Who speaks, who else is at the table, and who can be mentioned in the channel."""

    speaker: str
    others: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()

    def names(self) -> list[str]:
        return [self.speaker, *self.others, *(name for member in self.members for name in member.names)]
