"""The names of the modes that can be chosen."""

from typing import Literal

ModeName = Literal["single", "parallel", "consensus", "debate", "advisors", "directed"]

ALONE_TOO: frozenset[ModeName] = frozenset(
    {"single", "parallel", "advisors", "directed"}
)  # need no second one
TOGETHER: frozenset[ModeName] = frozenset(
    {"consensus", "debate", "advisors", "directed"}
)  # told of each other
