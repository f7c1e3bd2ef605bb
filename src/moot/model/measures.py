"""What is known of a model before it is asked: how it counts words, and how much it can be given at once."""

from msgspec import Struct

CHARACTERS_PER_TOKEN = 4.0  # where nobody has counted yet


class Measure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`context` is how many tokens it can hold, its answer included; None is as many as one likes.

    `answer` is how many of them it may say, where its participant has no limit of its own.
    """

    characters_per_token: float = CHARACTERS_PER_TOKEN
    context: int | None = None
    answer: int = 8192
