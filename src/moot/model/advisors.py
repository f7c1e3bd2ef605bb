"""Advisors: voices that answer side by side, each in a thread of its own."""

from msgspec import Struct

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
