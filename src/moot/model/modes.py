"""The names of the modes that can be chosen."""

from collections.abc import Sized
from typing import Literal

from moot.model.errors import UsageError

ModeName = Literal["single", "parallel", "consensus", "debate", "advisors", "directed"]

ALONE_TOO: frozenset[ModeName] = frozenset(
    {"single", "parallel", "advisors", "directed"}
)  # need no second one
TOGETHER: frozenset[ModeName] = frozenset(
    {"consensus", "debate", "advisors", "directed"}
)  # told of each other
WINDOWED: frozenset[str] = frozenset({"advisors"})  # show as much of a discussion as fits, and no more


def usual_mode(participants: Sized) -> ModeName:
    return "single" if len(participants) == 1 else "parallel"


def check_mode(mode: str, participants: Sized) -> None:
    if mode not in ALONE_TOO and len(participants) < 2:
        raise UsageError(f"mode: {mode} takes at least two participants: add one, or choose single.")
