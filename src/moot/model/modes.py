"""The names of the modes that can be chosen."""

from typing import Literal

ModeName = Literal["single", "parallel", "consensus", "debate", "advisors", "directed"]

ALONE_TOO: frozenset[ModeName] = frozenset(
    {"single", "parallel", "advisors", "directed"}
)  # need no second one
TOGETHER: frozenset[ModeName] = frozenset(
    {"consensus", "debate", "advisors", "directed"}
)  # told of each other
WINDOWED: frozenset[str] = frozenset({"advisors"})  # show as much of a discussion as fits, and no more
