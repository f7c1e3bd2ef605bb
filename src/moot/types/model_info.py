"""What a model can do, how much it can read, and how many characters a token has."""

from typing import Literal

from msgspec import Struct

CHARACTERS_PER_TOKEN = 4.0  # where nobody has counted yet
MIN_CHARACTERS_PER_TOKEN, MAX_CHARACTERS_PER_TOKEN = (
    0.5,
    16.0,
)  # of a token; any other count is about something else


class ModelLimits(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`context` is how many tokens it can hold, its answer included; None is as many as one likes.

    `answer` is how many of them it may say, where its participant has no limit of its own.
    """

    characters_per_token: float = CHARACTERS_PER_TOKEN
    context: int | None = None
    answer: int = 8192


class TokenCount(Struct, frozen=True):
    """Characters, and the tokens that a provider counted for them."""

    characters: int = 0
    tokens: int = 0

    def __add__(self, other: "TokenCount") -> "TokenCount":
        return TokenCount(self.characters + other.characters, self.tokens + other.tokens)

    @property
    def is_plausible(self) -> bool:
        return (
            self.tokens > 0
            and MIN_CHARACTERS_PER_TOKEN <= self.characters / self.tokens <= MAX_CHARACTERS_PER_TOKEN
        )


FileKind = Literal["text", "image", "pdf"]


class Profile(Struct, frozen=True, kw_only=True):
    """`context` is None where nobody knows; `thinking` says how a request asks for it.

    Those that take no `temperature` refuse a request that has one, so they are sent none.
    """

    context: int | None = None
    files: frozenset[FileKind] = frozenset({"text"})
    thinking: Literal["none", "effort", "budget"] = "none"
    temperature: bool = True
    tools: bool = True
    json_schema: bool = True
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    default_max_tokens: int = 8192


def file_kind(media_type: str) -> FileKind | None:
    """Classify a file by what a model would have to read; None is a kind no model takes."""
    if media_type.startswith("image/"):
        return "image"
    if media_type == "application/pdf":
        return "pdf"
    if media_type.startswith("text/") or media_type in {"application/json", "application/xml"}:
        return "text"
    return None
