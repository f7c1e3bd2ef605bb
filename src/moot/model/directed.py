"""Directed discussions: who speaks next is decided turn by turn."""

from typing import Literal

from msgspec import Struct

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
