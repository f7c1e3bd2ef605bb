"""Looking credentials up by their hash: whose they are, and whether they still count."""

import hashlib
import time
from collections.abc import Collection

from sqlalchemy import ColumnElement, CompoundSelect, Select, Table, select, union_all
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.model.accounts import Caller
from moot.store.schema import account, session, token


def digest(secret: str) -> str:
    """Return what is stored of a secret. It is long and random, so that a plain hash is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


def of_session(hash: str) -> Select[str, str, str]:
    return _owner(session, hash).where(session.c.expires_at > time.time())


def of_token(hash: str) -> Select[str, str, str]:
    return _owner(token, hash)


def _owner(table: Table, hash: str) -> Select[str, str, str]:
    owner: Select[str, str, str] = select(account.c.id, account.c.tenant, account.c.name)
    return owner.join(table, table.c.account == account.c.id).where(table.c.hash == hash)


def valid(hashes: Collection[str]) -> CompoundSelect[str]:
    """Select those of the hashes that would be accepted now."""
    sessions = select(session.c.hash).where(session.c.hash.in_(hashes), session.c.expires_at > time.time())
    return union_all(sessions, select(token.c.hash).where(token.c.hash.in_(hashes)))


async def hold(connection: AsyncConnection, id: str, *conditions: ColumnElement[bool]) -> bool:
    """Keep an account as it is until the transaction ends; tell whether it is there, and as it should be.

    A credential that is made while another is being taken away waits here, and then is not made.
    """
    query = select(account.c.id).where(account.c.id == id, *conditions).with_for_update(read=True)
    return (await connection.execute(query)).first() is not None


async def counts(connection: AsyncConnection, caller: Caller) -> bool:
    """Tell whether a caller's credential is still accepted; whoever sits at this machine needs none."""
    if caller.kind == "local":
        return True
    return (await connection.execute(valid([caller.credential]))).first() is not None
