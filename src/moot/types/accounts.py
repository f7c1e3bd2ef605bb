"""Who is calling: an account in a tenant. Everything that is stored belongs to one tenant."""

from typing import Literal

from msgspec import Struct

from moot.types.errors import UsageError

CredentialKind = Literal["local", "session", "token"]

LOCAL_ACCOUNT = "local"  # the tenant and the account of whoever sits at this machine
MAX_NAME_LENGTH = 64
MIN_PASSWORD_LENGTH = 10
MAX_PASSWORD_LENGTH = 1000


class Account(Struct, frozen=True, kw_only=True):
    id: str
    tenant: str
    name: str
    created_at: float


class Caller(Struct, frozen=True, kw_only=True):
    """An account and the credential it came with; `credential` is the stored hash, not the secret."""

    account: str
    tenant: str
    name: str
    kind: CredentialKind
    credential: str = ""


class Token(Struct, frozen=True, kw_only=True):
    """An API token as it may be shown: all but the secret, which only its owner has."""

    id: str
    name: str
    created_at: float


class StoredKey(Struct, frozen=True, kw_only=True):
    """A tenant's own key for a provider, as it may be shown. It is only ever sent to its origin."""

    origin: str
    created_at: float


def check_account_name(name: str) -> None:
    if not 1 <= len(name) <= MAX_NAME_LENGTH or name != name.strip() or not name.isprintable():
        raise UsageError(
            f"A name has 1 to {MAX_NAME_LENGTH} characters, without spaces around it or control characters."
        )


def check_password(password: str) -> None:
    if not MIN_PASSWORD_LENGTH <= len(password) <= MAX_PASSWORD_LENGTH:
        raise UsageError(
            f"A password has {MIN_PASSWORD_LENGTH} to {MAX_PASSWORD_LENGTH} characters: choose another."
        )
    if not password.isprintable():
        raise UsageError("A password has no control characters in it: choose another.")
