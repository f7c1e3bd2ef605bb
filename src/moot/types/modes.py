"""Names, limits and options of the modes."""

from collections.abc import Sized
from typing import Literal

from msgspec import Struct

from moot.types.errors import UsageError

EARLY = 3
BUDGET = 150_000


class Advisors(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The rules. In its first `early` turns an advisor only asks; 0 lets it speak freely at once.

    `budget` is how many tokens, by estimate, are given to one at most. With `cross_talk` they may answer each other once,
    with `synthesis` the first of them sums up.
    """

    early: int = EARLY
    budget: int = BUDGET
    cross_talk: bool = False
    synthesis: bool = False


LessonRole = Literal["teacher", "assistant", "student"]

TURNS, MOST_TURNS = 10, 20
STAGE = "turn"
USER, END = "USER", "END"  # who has the word when no agent has
PREVIEW = 100  # characters of what somebody said, for those who need not read it all


class Directed(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The rules. So many `turns` are taken before people have the word again; `trigger` is who begins, if anybody."""

    turns: int = TURNS
    trigger: str | None = None
    topic: str = ""


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
