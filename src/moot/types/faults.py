"""What went wrong in a provider's stream, as a value that can be shown, stored and decided upon."""

from typing import Literal

from msgspec import Struct

FaultKind = Literal[
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

RETRYABLE_KINDS: frozenset[FaultKind] = frozenset(
    {"rate_limit", "overloaded", "timeout", "network", "bad_response"}
)


class Fault(Struct, frozen=True):
    """A failure in words for the user; `retryable` says whether asking the same again may help."""

    kind: FaultKind
    message: str
    retryable: bool
    retry_after: float | None = None


def make_fault(
    kind: FaultKind, message: str, *, retryable: bool | None = None, retry_after: float | None = None
) -> Fault:
    """Make a fault that is retryable as its kind usually is."""
    return Fault(kind, message, kind in RETRYABLE_KINDS if retryable is None else retryable, retry_after)
