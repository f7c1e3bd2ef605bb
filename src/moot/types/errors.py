"""The error tree.

MootError
├── UsageError       what was asked for cannot be done; the message names the fix
│   ├── UnknownModel
│   ├── MissingKey
│   ├── BadSettings
│   ├── FeatureUnavailable  an optional part is not installed or cannot load here
│   ├── NotFound     there is no such thing, or it is somebody else's
│   ├── Conflict     it is at odds with what is already there
│   ├── Forbidden    not allowed, or not with these credentials
│   ├── OverBudget   it would cost more than is left of the week's budget
│   ├── InvalidAction  an action is unknown, malformed, or not for the role
│   └── RateLimited  not now; `retry_after` says when
├── DatabaseUnavailable  the database cannot be reached, is locked, or is full
├── ServerUnreachable  a server that was called does not answer
├── ShuttingDown     this server is about to end; another one, or the next, will serve
└── ProviderError    a provider failed; carries a Fault and becomes a `Failed` chunk at the seam
"""

from collections.abc import Iterator
from contextlib import contextmanager

from moot.types.faults import Fault


class MootError(Exception):
    """The root of everything Moot raises on purpose."""


class UsageError(MootError):
    pass


class UnknownModel(UsageError):
    pass


class MissingKey(UsageError):
    pass


class BadSettings(UsageError):
    pass


class FeatureUnavailable(UsageError):
    pass


class NotFound(UsageError):
    pass


@contextmanager
def prefix_not_found(field: str) -> Iterator[None]:
    """Let what is not found say which field of a body asks for it."""
    try:
        yield
    except NotFound as error:
        raise NotFound(f"{field}: {error}") from error


class Conflict(UsageError):
    pass


class Forbidden(UsageError):
    """With `log_in` it is not known who asks, and other credentials may help (401); else nothing does (403)."""

    def __init__(self, message: str, *, login_required: bool = False) -> None:
        super().__init__(message)
        self.login_required = login_required


class OverBudget(UsageError):
    pass


class InvalidAction(UsageError):
    pass


class RateLimited(UsageError):
    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class DatabaseUnavailable(MootError):
    pass


class ServerUnreachable(MootError):
    pass


class ShuttingDown(MootError):
    pass


class ProviderError(MootError):
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault
