"""Who is calling: an account in a tenant. Everything that is stored belongs to one tenant."""

from typing import Literal

from msgspec import Struct

CredentialKind = Literal["local", "session", "token"]


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
