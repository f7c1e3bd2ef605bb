"""Errors of provider requests as values, for events, storage and retry decisions."""

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

RETRYABLE_KINDS: frozenset[FaultKind] = frozenset({"rate_limit", "overloaded", "timeout", "network", "bad_response"})


class Fault(Struct, frozen=True):
    """An error of a provider request or response stream."""

    kind: FaultKind
    message: str  # for users
    retryable: bool  # the same request may succeed later
    retry_after: float | None = None  # seconds, as requested by the provider


def make_fault(
    kind: FaultKind, message: str, *, retryable: bool | None = None, retry_after: float | None = None
) -> Fault:
    """`retryable` None: use the default of the kind."""
    return Fault(kind, message, kind in RETRYABLE_KINDS if retryable is None else retryable, retry_after)
