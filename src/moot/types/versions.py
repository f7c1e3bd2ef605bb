"""Versions of what was said: given anew, edited, or an earlier one chosen again. The newest stands in the place of the first.

Nothing is ever changed: each is a message of its own, so that what was current at any number can be told.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from moot.types.discussions import Message

# What is another in another version; all else is as in the first.
VERSION_FIELDS = (
    "content",
    "thoughts",
    "details",
    "status",
    "provider",
    "model",
    "usage",
    "cost",
    "latency",
    "first_token",
    "fault",
    "finish",
    "script",
    "tools",
)
LISTED_VERSION_FIELDS = (
    "id",
    "number",
    "run",
    "version_of",
    "created_at",
)  # of a version, where it is listed as one


class Versions(Struct, frozen=True, kw_only=True):
    """All versions of a turn, the oldest first, and which is current."""

    current: str
    versions: tuple[Message, ...]


class VersionedTurn(Struct, frozen=True):
    """A turn as the version that is current, and its other versions, the oldest first."""

    current: Message
    other_versions: tuple[Message, ...] = ()


def current_versions(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Show every turn once, in its order, as the newest of its versions that are among these."""
    return tuple(current_version(turn) for turn in _group_versions(messages))


def turns_with_versions(messages: Iterable[Message]) -> tuple[VersionedTurn, ...]:
    """Show the same with all other versions beside it."""
    return tuple(
        VersionedTurn(current_version(turn), _other_versions(turn)) for turn in _group_versions(messages)
    )


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
    """Put the versions of a turn in their order, the first one first; an attempt that failed or broke off is none."""
    first, *later = turn
    if not later:
        return turn
    versions = [one for one in later if one.status == "completed" or one.copy_of is not None]
    return [first, *sorted(versions, key=lambda one: one.number)]


def current_version(turn: Sequence[Message]) -> Message:
    return apply_version(turn, turn[-1])


def apply_version(turn: Sequence[Message], version_message: Message) -> Message:
    """Put the words of one version in the place of the first."""
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
        revised=version_message.number,
        edited=source.version_of is not None and source.run is None,
    )


def list_versions(turn: Sequence[Message]) -> Versions:
    """List the versions of a turn under their own ids."""
    return Versions(
        current=turn[-1].copy_of or turn[-1].id,
        versions=tuple(
            replace(apply_version(turn, one), **{name: getattr(one, name) for name in LISTED_VERSION_FIELDS})
            for one in turn
            if one.copy_of is None
        ),
    )
