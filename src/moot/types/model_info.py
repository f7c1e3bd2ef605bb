"""Model capabilities, context limits and characters per token."""

from typing import Literal

from msgspec import Struct

CHARACTERS_PER_TOKEN = 4.0  # default until a provider has returned token counts
# Counts outside this range are rejected as provider errors.
MIN_CHARACTERS_PER_TOKEN, MAX_CHARACTERS_PER_TOKEN = 0.5, 16.0


class ModelLimits(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Limits for building a prompt, in tokens."""

    characters_per_token: float = CHARACTERS_PER_TOKEN
    context_tokens: int | None = None  # context window including the response; None: no limit
    max_answer_tokens: int = 8192  # maximum response, unless the participant sets `max_tokens`


class TokenCount(Struct, frozen=True):
    """Characters sent and the token count that the provider returned for them."""

    characters: int = 0
    tokens: int = 0

    def __add__(self, other: "TokenCount") -> "TokenCount":
        return TokenCount(self.characters + other.characters, self.tokens + other.tokens)

    @property
    def is_plausible(self) -> bool:
        return self.tokens > 0 and MIN_CHARACTERS_PER_TOKEN <= self.characters / self.tokens <= MAX_CHARACTERS_PER_TOKEN


FileKind = Literal["text", "image", "pdf"]


class Profile(Struct, frozen=True, kw_only=True):
    """Capabilities of a model."""

    context: int | None = None  # context window in tokens; None: unknown
    files: frozenset[FileKind] = frozenset({"text"})
    thinking: Literal["none", "effort", "budget"] = "none"  # request parameter that enables reasoning
    temperature: bool = True  # False: the provider rejects requests with a `temperature` field
    tools: bool = True
    json_schema: bool = True
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    default_max_tokens: int = 8192


def file_kind(media_type: str) -> FileKind | None:
    """Return None for media types that no model accepts."""
    if media_type.startswith("image/"):
        return "image"
    if media_type == "application/pdf":
        return "pdf"
    if media_type.startswith("text/") or media_type in {"application/json", "application/xml"}:
        return "text"
    return None
