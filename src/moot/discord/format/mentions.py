"""Mention resolver: replaces `@name` with the Discord mention of a channel member."""

import re
from collections import defaultdict
from collections.abc import Collection
from functools import cached_property

from msgspec import Struct

from moot.discord.format.boundaries import edit_outside_code

MAX_NAME_CHARS = 32  # Discord's limit
_AT_SIGN = "[@\uff20]"
_WRAPPED_NAME = (
    rf"<{_AT_SIGN}[!&]?\{{?(?P<angled>[^<>\n{{}}]{{1,80}})\}}?>|{_AT_SIGN}\{{(?P<braced>[^{{}}\n]{{1,80}})\}}"
)
_QUOTED_NAME = rf'{_AT_SIGN}\[(?P<bracketed>[^\[\]\n]{{1,40}})\]|{_AT_SIGN}"(?P<quoted>[^"\n]{{1,40}})"'
_PLAIN_NAME = rf"(?<![\w/]){_AT_SIGN}(?!\s)(?=(?P<ahead>[^\n]{{0,{MAX_NAME_CHARS + 1}}}))"
_MENTION = re.compile(f"{_WRAPPED_NAME}|{_QUOTED_NAME}|{_PLAIN_NAME}")
EVERYONE_NAMES = ("everyone", "here")
_EVERYONE_MENTION = re.compile(rf"{_AT_SIGN}(?={'|'.join(EVERYONE_NAMES)}|\Z)", re.IGNORECASE)
_RAW_MENTION = re.compile(r"(?<=<)@(?=[!&]?\d)")
_UNSPACED_SCRIPTS = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # scripts without a space after a name
_NAME_CONTINUES = re.compile(rf"[^\W{_UNSPACED_SCRIPTS}]|[.-]\w")  # a match means a longer, other name
_INERT_AT_SIGN = "@\u200b"  # looks the same, but Discord does not parse it as a mention


class ChannelMember(Struct, frozen=True):
    id: str
    names: tuple[str, ...]  # display name and user name


class MentionResolver:
    def __init__(self, members: Collection[ChannelMember]) -> None:
        self._members = members

    def resolve_mentions(self, text: str) -> str:
        """Resolve mentions outside code. Neutralizes `@everyone`, also in code."""
        if "@" not in text and "\uff20" not in text:
            return text
        return edit_outside_code(self._resolve_in_prose, text, edit_code=_neutralize_code)

    @cached_property
    def _ids_by_name(self) -> dict[str, set[str]]:
        ids: dict[str, set[str]] = defaultdict(set)
        for member in self._members:
            for name in member.names:
                ids[name.casefold()].add(member.id)
        return ids

    @cached_property
    def _member_ids(self) -> frozenset[str]:
        return frozenset(member.id for member in self._members)

    def _resolve_in_prose(self, text: str) -> str:
        parts, position = [], 0
        while found := _MENTION.search(text, position):
            parts.append(text[position : found.start()])
            wrapped = found["angled"] or found["braced"] or found["bracketed"] or found["quoted"]
            name = self._resolve_wrapped_name(wrapped) if wrapped else self._match_plain_name(found["ahead"])
            parts.append(self._format_mention(name) or name)
            position = found.end() + (0 if wrapped else len(name))
        return _neutralize_everyone("".join([*parts, text[position:]]))

    def _resolve_wrapped_name(self, content: str) -> str:
        """Parse `name|id` or a name. Returns the id if it is a member's, else the name."""
        name, _, id = content.rpartition("|")
        return id.strip() if id.strip() in self._member_ids else (name or id).strip("@\uff20 ")

    def _match_plain_name(self, ahead: str) -> str:
        """Return the longest member name or id at the start of `ahead`, or an empty string."""
        for size in range(min(len(ahead), MAX_NAME_CHARS), 0, -1):
            name = ahead[:size]
            is_known = name in self._member_ids or name.casefold() in self._ids_by_name
            if is_known and not _NAME_CONTINUES.match(ahead, size):
                return name
        return ""

    def _format_mention(self, name: str) -> str | None:
        ids = {name} if name in self._member_ids else self._ids_by_name.get(name.casefold(), set())
        return f"<@{next(iter(ids))}>" if len(ids) == 1 and name.lower() not in EVERYONE_NAMES else None


def _neutralize_everyone(text: str) -> str:
    return _EVERYONE_MENTION.sub(_INERT_AT_SIGN, text)


def _neutralize_code(code: str) -> str:
    """Neutralize mentions in a code span, in case a later split removes its backticks."""
    return _neutralize_everyone(_RAW_MENTION.sub(_INERT_AT_SIGN, code))


class ChannelMembers(Struct, frozen=True, kw_only=True):
    participant: str  # name of the author of the answer
    other_participants: tuple[str, ...] = ()
    members: tuple[ChannelMember, ...] = ()  # users who can be mentioned

    def all_names(self) -> list[str]:
        return [self.participant, *self.other_participants, *(name for member in self.members for name in member.names)]
