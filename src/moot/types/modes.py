"""Names, limits and options of the modes."""

from collections.abc import Sized
from typing import Literal

from msgspec import Struct

from moot.types.errors import UsageError

DEFAULT_EARLY_TURNS = 3
DEFAULT_ADVISOR_BUDGET = 150_000


class AdvisorOptions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The rules. In its first `early` turns an advisor only asks; 0 lets it speak freely at once.

    `budget` is how many tokens, by estimate, are given to one at most. With `cross_talk` they may answer each other once,
    with `synthesis` the first of them sums up.
    """

    early: int = DEFAULT_EARLY_TURNS
    budget: int = DEFAULT_ADVISOR_BUDGET
    cross_talk: bool = False
    synthesis: bool = False


LessonRole = Literal["teacher", "assistant", "student"]

DEFAULT_LESSON_TURNS, MAX_LESSON_TURNS = 10, 20
LESSON_STAGE = "turn"
USER_SPEAKS_NEXT, LESSON_ENDS = "USER", "END"  # who has the word when no agent has
PREVIEW_CHARACTERS = 100  # characters of what somebody said, for those who need not read it all


class DirectedOptions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The rules. So many `turns` are taken before people have the word again; `trigger` is who begins, if anybody."""

    turns: int = DEFAULT_LESSON_TURNS
    trigger: str | None = None
    topic: str = ""


ModeName = Literal["single", "parallel", "consensus", "debate", "advisors", "directed"]

SOLO_MODES: frozenset[ModeName] = frozenset(
    {"single", "parallel", "advisors", "directed"}
)  # need no second one
KNOWS_OTHERS_MODES: frozenset[ModeName] = frozenset(
    {"consensus", "debate", "advisors", "directed"}
)  # told of each other
WINDOWED_MODES: frozenset[str] = frozenset({"advisors"})  # show as much of a discussion as fits, and no more


def default_mode(participants: Sized) -> ModeName:
    return "single" if len(participants) == 1 else "parallel"


def check_mode(mode: str, participants: Sized) -> None:
    if mode not in SOLO_MODES and len(participants) < 2:
        raise UsageError(f"mode: {mode} takes at least two participants: add one, or choose single.")
