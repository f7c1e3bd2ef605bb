"""What went wrong in a provider's stream, as a value that can be shown, stored and decided upon."""

from typing import Literal

from msgspec import Struct

Kind = Literal[
    "rate_limit",
    "overloaded",
    "auth",
    "content_blocked",
    "context_length",
    "timeout",
    "network",
    "bad_response",
    "api_error",
]

RETRYABLE: frozenset[Kind] = frozenset({"rate_limit", "overloaded", "timeout", "network", "bad_response"})


class Fault(Struct, frozen=True):
    """A failure in words for the user; `retryable` says whether asking the same again may help."""

    kind: Kind
    message: str
    retryable: bool
    retry_after: float | None = None


def fault(
    kind: Kind, message: str, *, retryable: bool | None = None, retry_after: float | None = None
) -> Fault:
    """Make a fault that is retryable as its kind usually is."""
    return Fault(kind, message, kind in RETRYABLE if retryable is None else retryable, retry_after)
