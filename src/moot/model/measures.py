"""What is known of a model before it is asked: how it counts words, and how much it can be given at once."""

from msgspec import Struct

CHARACTERS_PER_TOKEN = 4.0  # where nobody has counted yet
FEWEST_CHARACTERS, MOST_CHARACTERS = 0.5, 16.0  # of a token; any other count is about something else


class Measure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`context` is how many tokens it can hold, its answer included; None is as many as one likes.

    `answer` is how many of them it may say, where its participant has no limit of its own.
    """

    characters_per_token: float = CHARACTERS_PER_TOKEN
    context: int | None = None
    answer: int = 8192


class Counted(Struct, frozen=True):
    """Characters, and the tokens that a provider counted for them."""

    characters: int = 0
    tokens: int = 0

    def __add__(self, other: "Counted") -> "Counted":
        return Counted(self.characters + other.characters, self.tokens + other.tokens)

    @property
    def is_plausible(self) -> bool:
        return self.tokens > 0 and FEWEST_CHARACTERS <= self.characters / self.tokens <= MOST_CHARACTERS
