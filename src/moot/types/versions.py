"""Versions of what was said: given anew, edited, or an earlier one chosen again. The newest stands in the place of the first.

Nothing is ever changed: each is a message of its own, so that what was current at any number can be told.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from moot.types.discussions import Message

# What is another in another version; all else is as in the first.
WORDS = (
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
OWN = ("id", "number", "run", "version_of", "created_at")  # of a version, where it is listed as one


class Versions(Struct, frozen=True, kw_only=True):
    """All versions of a turn, the oldest first, and which is current."""

    current: str
    versions: tuple[Message, ...]


class Turn(Struct, frozen=True):
    """A turn as the version that is current, and its other versions, the oldest first."""

    now: Message
    others: tuple[Message, ...] = ()


def folded(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Show every turn once, in its order, as the newest of its versions that are among these."""
    return tuple(current(turn) for turn in _turns(messages))


def unfolded(messages: Iterable[Message]) -> tuple[Turn, ...]:
    """Show the same with all other versions beside it."""
    return tuple(Turn(current(turn), _others(turn)) for turn in _turns(messages))


def _turns(messages: Iterable[Message]) -> Iterator[Sequence[Message]]:
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
    return map(counting, turns.values())


def _others(turn: Sequence[Message]) -> tuple[Message, ...]:
    if len(turn) == 1:
        return ()
    all = listed(turn)
    return tuple(one for one in all.versions if one.id != all.current)


def counting(turn: Sequence[Message]) -> Sequence[Message]:
    """Put the versions of a turn in their order, the first one first; an attempt that failed or broke off is none."""
    first, *later = turn
    if not later:
        return turn
    versions = [one for one in later if one.status == "completed" or one.copy_of is not None]
    return [first, *sorted(versions, key=lambda one: one.number)]


def current(turn: Sequence[Message]) -> Message:
    return shown(turn, turn[-1])


def shown(turn: Sequence[Message], one: Message) -> Message:
    """Put the words of one version in the place of the first."""
    if len(turn) == 1:
        return turn[0]
    own = [version for version in turn if version.copy_of is None]
    source = next(version for version in own if version.id == (one.copy_of or one.id))
    return replace(
        turn[0],
        **{name: getattr(one, name) for name in WORDS},
        version=own.index(source) + 1,
        versions=len(own),
        version_id=source.id,
        revised=one.number,
        edited=source.version_of is not None and source.run is None,
    )


def listed(turn: Sequence[Message]) -> Versions:
    """List the versions of a turn under their own ids."""
    return Versions(
        current=turn[-1].copy_of or turn[-1].id,
        versions=tuple(
            replace(shown(turn, one), **{name: getattr(one, name) for name in OWN})
            for one in turn
            if one.copy_of is None
        ),
    )
