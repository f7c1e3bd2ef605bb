"""Accounts, tenants and credentials. Every stored row belongs to exactly one tenant."""

from typing import Literal

from msgspec import Struct

from moot.types.errors import UsageError

CredentialKind = Literal["local", "session", "token"]

LOCAL_ACCOUNT = "local"  # tenant id and account id of requests without login
MAX_NAME_LENGTH = 64
MIN_PASSWORD_LENGTH = 10
MAX_PASSWORD_LENGTH = 1000


class Account(Struct, frozen=True, kw_only=True):
    id: str
    tenant: str
    name: str
    created_at: float


class Caller(Struct, frozen=True, kw_only=True):
    """The authenticated account of a request."""

    account: str  # account id
    tenant: str
    name: str
    kind: CredentialKind
    credential: str = ""  # stored hash of the token or session key, never the secret


class Token(Struct, frozen=True, kw_only=True):
    """An API token without its secret. Clients see the secret once, in the response that creates it."""

    id: str
    name: str
    created_at: float


class StoredKey(Struct, frozen=True, kw_only=True):
    """A tenant's API key for a provider, without the key itself."""

    origin: str  # scheme, host and port; requests send the key to no other server
    created_at: float


def check_account_name(name: str) -> None:
    if not 1 <= len(name) <= MAX_NAME_LENGTH or name != name.strip() or not name.isprintable():
        raise UsageError(
            f"name: it must have 1 to {MAX_NAME_LENGTH} printable characters, with no space at its ends. Choose another."
        )


def check_password(password: str) -> None:
    if not MIN_PASSWORD_LENGTH <= len(password) <= MAX_PASSWORD_LENGTH:
        raise UsageError(
            f"password: it must have {MIN_PASSWORD_LENGTH} to {MAX_PASSWORD_LENGTH} characters. Choose another."
        )
    if not password.isprintable():
        raise UsageError("password: it must not contain control characters. Choose another.")
