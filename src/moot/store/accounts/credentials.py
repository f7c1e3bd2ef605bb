"""Hashes passwords with argon2, and finds credentials by their hash."""

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

from moot.store.schema import account, session, token
from moot.types.accounts import Caller


def hash_secret(secret: str) -> str:
    """Return what is stored of a secret. It is long and random, so that a plain hash is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


def session_owner_query(hash: str) -> Select[str, str, str]:
    return _owner_query(session, hash).where(session.c.expires_at > time.time())


def token_owner_query(hash: str) -> Select[str, str, str]:
    return _owner_query(token, hash)


def _owner_query(table: Table, hash: str) -> Select[str, str, str]:
    owner: Select[str, str, str] = select(account.c.id, account.c.tenant, account.c.name)
    return owner.join(table, table.c.account == account.c.id).where(table.c.hash == hash)


def valid_hashes_query(hashes: Collection[str]) -> CompoundSelect[str]:
    """Select those of the hashes that would be accepted now."""
    sessions = select(session.c.hash).where(session.c.hash.in_(hashes), session.c.expires_at > time.time())
    return union_all(sessions, select(token.c.hash).where(token.c.hash.in_(hashes)))


async def lock_account(connection: AsyncConnection, id: str, *conditions: ColumnElement[bool]) -> bool:
    """Keep an account as it is until the transaction ends; tell whether it is there, and as it should be.

    A credential that is made while another is being taken away waits here, and then is not made.
    """
    query = select(account.c.id).where(account.c.id == id, *conditions).with_for_update(read=True)
    return (await connection.execute(query)).first() is not None


async def is_credential_valid(connection: AsyncConnection, caller: Caller) -> bool:
    """Tell whether a caller's credential is still accepted; whoever sits at this machine needs none."""
    if caller.kind == "local":
        return True
    return (await connection.execute(valid_hashes_query([caller.credential]))).first() is not None


HASHER = PasswordHasher.from_parameters(RFC_9106_LOW_MEMORY)
MAX_CONCURRENT_HASHES = 2  # each takes 64 MiB

# Checked for names that nobody has, so that they take as long as the others.
DUMMY_HASH = (
    "$argon2id$v=19$m=65536,t=3,p=4$vLS2rDosSrwST/+ct6xFBg$GuYuKKgeJkoTczdafdReX0tOl/BQyBA4o4eMU0MdJW0"
)


class Passwords:
    def __init__(self) -> None:
        self._hash_semaphore = asyncio.Semaphore(MAX_CONCURRENT_HASHES)

    async def hash_password(self, password: str) -> str:
        async with self._hash_semaphore:
            return await asyncio.to_thread(partial(HASHER.hash, password))

    async def verify_password(self, hash: str | None, password: str) -> bool:
        """Tell whether a password is the one of a hash; without a hash it never is, after the same work."""
        async with self._hash_semaphore:
            right = await asyncio.to_thread(_verify_hash, hash or DUMMY_HASH, password)
        return right and hash is not None


def _verify_hash(hash: str, password: str) -> bool:
    try:
        return HASHER.verify(hash, password)
    except VerificationError:
        return False
