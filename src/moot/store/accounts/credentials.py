"""Password hashes with argon2, and queries for credentials by their hash."""

import asyncio
import hashlib
import time
from collections.abc import Collection
from functools import partial

from argon2 import PasswordHasher
from argon2.exceptions import VerificationError
from argon2.profiles import RFC_9106_LOW_MEMORY
from sqlalchemy import ColumnElement, CompoundSelect, Select, Table, select, union_all
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.schema.accounts import account, session, token
from moot.types.accounts import Caller


def hash_secret(secret: str) -> str:
    """Hash the secret of a session or token. It is long and random, so plain SHA-256 is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


def session_owner_query(hash: str) -> Select[str, str, str]:
    return _owner_query(session, hash).where(session.c.expires_at > time.time())


def token_owner_query(hash: str) -> Select[str, str, str]:
    return _owner_query(token, hash)


def _owner_query(table: Table, hash: str) -> Select[str, str, str]:
    owner: Select[str, str, str] = select(account.c.id, account.c.tenant, account.c.name)
    return owner.join(table, table.c.account == account.c.id).where(table.c.hash == hash)


def valid_hashes_query(hashes: Collection[str]) -> CompoundSelect[str]:
    """Return a query for the hashes of existing tokens and of sessions that have not expired."""
    sessions = select(session.c.hash).where(session.c.hash.in_(hashes), session.c.expires_at > time.time())
    return union_all(sessions, select(token.c.hash).where(token.c.hash.in_(hashes)))


async def lock_account(connection: AsyncConnection, id: str, *conditions: ColumnElement[bool]) -> bool:
    """Lock an account until the transaction ends. Return whether it exists and meets the conditions.

    A concurrent password change deletes all credentials. The creation of a new one waits here, and then fails.
    """
    query = select(account.c.id).where(account.c.id == id, *conditions).with_for_update(read=True)
    return (await connection.execute(query)).first() is not None


async def is_credential_valid(connection: AsyncConnection, caller: Caller) -> bool:
    """Return True for the local user, who needs no credential."""
    if caller.kind == "local":
        return True
    return (await connection.execute(valid_hashes_query([caller.credential]))).first() is not None


HASHER = PasswordHasher.from_parameters(RFC_9106_LOW_MEMORY)
MAX_CONCURRENT_HASHES = 2  # each needs 64 MiB

# Verified for unknown names, so that the response time does not show which names exist.
DUMMY_HASH = "$argon2id$v=19$m=65536,t=3,p=4$vLS2rDosSrwST/+ct6xFBg$GuYuKKgeJkoTczdafdReX0tOl/BQyBA4o4eMU0MdJW0"


class Passwords:
    def __init__(self) -> None:
        self._hash_semaphore = asyncio.Semaphore(MAX_CONCURRENT_HASHES)

    async def hash_password(self, password: str) -> str:
        async with self._hash_semaphore:
            return await asyncio.to_thread(partial(HASHER.hash, password))

    async def verify_password(self, hash: str | None, password: str) -> bool:
        """Without a hash, return False after the same amount of work."""
        async with self._hash_semaphore:
            right = await asyncio.to_thread(_verify_hash, hash or DUMMY_HASH, password)
        return right and hash is not None


def _verify_hash(hash: str, password: str) -> bool:
    try:
        return HASHER.verify(hash, password)
    except VerificationError:
        return False
