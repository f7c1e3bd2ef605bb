"""Versions of a message: regenerated, edited or selected again. The newest version is current.

Versions are immutable rows. So the version that was current at any `Message.seq` can be computed, for example to
replay a prompt.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from moot.types.discussions import Message

# Fields that a version replaces; other fields keep the value of the first version.
VERSION_FIELDS = (
    "content",
    "thoughts",
    "details",
    "status",
    "provider",
    "model",
    "usage",
    "cost_usd",
    "latency_seconds",
    "first_token_seconds",
    "fault",
    "finish_reason",
    "lesson_items",
    "tools",
)
# Fields of the version itself in a list of versions.
LISTED_VERSION_FIELDS = ("id", "seq", "run", "version_of", "created_at")


class Versions(Struct, frozen=True, kw_only=True):
    """All versions of a turn."""

    current: str  # id of the current version
    versions: tuple[Message, ...]  # oldest first


class VersionedTurn(Struct, frozen=True):
    current: Message
    other_versions: tuple[Message, ...] = ()  # oldest first


def current_versions(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return one message per turn, in turn order, with the newest version among the argument's messages."""
    return tuple(current_version(turn) for turn in _group_versions(messages))


def turns_with_versions(messages: Iterable[Message]) -> tuple[VersionedTurn, ...]:
    """Like `current_versions`, with a list of the other versions of each turn."""
    return tuple(VersionedTurn(current_version(turn), _other_versions(turn)) for turn in _group_versions(messages))


def _group_versions(messages: Iterable[Message]) -> Iterator[Sequence[Message]]:
    turns: dict[str, list[Message]] = {}
    later: list[Message] = []
    for one in messages:
        if one.version_of is None:
            turns[one.id] = [one]
        else:
            later.append(one)
    for one in later:
        if one.version_of in turns:
            turns[one.version_of].append(one)
    return map(valid_versions, turns.values())


def _other_versions(turn: Sequence[Message]) -> tuple[Message, ...]:
    if len(turn) == 1:
        return ()
    all = list_versions(turn)
    return tuple(one for one in all.versions if one.id != all.current)


def valid_versions(turn: Sequence[Message]) -> Sequence[Message]:
    """Return the versions by `seq`, without failed or cancelled attempts to regenerate."""
    first, *later = turn
    if not later:
        return turn
    versions = [one for one in later if one.status == "completed" or one.copy_of is not None]
    return [first, *sorted(versions, key=lambda one: one.seq)]


def current_version(turn: Sequence[Message]) -> Message:
    return apply_version(turn, turn[-1])


def apply_version(turn: Sequence[Message], version_message: Message) -> Message:
    """Return the first message with the content fields of one version."""
    if len(turn) == 1:
        return turn[0]
    own = [version for version in turn if version.copy_of is None]
    source = next(version for version in own if version.id == (version_message.copy_of or version_message.id))
    return replace(
        turn[0],
        **{name: getattr(version_message, name) for name in VERSION_FIELDS},
        version=own.index(source) + 1,
        versions=len(own),
        version_id=source.id,
        revised_seq=version_message.seq,
        edited=source.version_of is not None and source.run is None,
    )


def list_versions(turn: Sequence[Message]) -> Versions:
    """Unlike `current_versions`, each message keeps its own id. Copies are not listed."""
    return Versions(
        current=turn[-1].copy_of or turn[-1].id,
        versions=tuple(
            replace(apply_version(turn, one), **{name: getattr(one, name) for name in LISTED_VERSION_FIELDS})
            for one in turn
            if one.copy_of is None
        ),
    )
