"""The exception hierarchy.

MootError
├── UsageError       invalid request; the message says how to fix it
│   ├── UnknownModel
│   ├── MissingKey
│   ├── BadSettings
│   ├── FeatureUnavailable  an optional dependency is not installed or fails to load
│   ├── NotFound     unknown id, or an object of another tenant
│   ├── Conflict     the request conflicts with the current state
│   ├── Unauthorized  no valid credentials
│   ├── Forbidden    the account lacks access
│   ├── OverBudget   the request may cost more than the rest of the weekly budget
│   ├── InvalidAction  unknown action, invalid params, or not allowed for the role
│   └── RateLimited  too many requests; retry after `retry_after` seconds
├── DatabaseUnavailable  the database is unreachable, locked or full
├── ServerUnreachable  a Moot server does not respond to the client
├── ShuttingDown     this server process is draining; retry on another server
└── ProviderError    a provider request failed; carries a Fault, which streams return as a `Failed` chunk
"""

from collections.abc import Iterator
from contextlib import contextmanager

from moot.types.faults import Fault


class MootError(Exception):
    """Base class of all exceptions that Moot raises deliberately."""


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


def not_found(kind: str, id: str) -> NotFound:
    return NotFound(f"There is no {kind} {id!r}.")


@contextmanager
def prefix_not_found(field: str) -> Iterator[None]:
    """Prefix the message of a NotFound error with the request field that holds the unknown id."""
    try:
        yield
    except NotFound as error:
        raise NotFound(f"{field}: {error}") from error


class Conflict(UsageError):
    pass


class Unauthorized(UsageError):
    """The client has no valid credentials."""


class Forbidden(UsageError):
    """The account lacks access."""


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
