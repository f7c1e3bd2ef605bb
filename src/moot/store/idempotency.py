"""Idempotency keys and stored replies: a repeated request runs once."""

import hashlib
import time
from typing import Any, TypeVar

import msgspec
from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.schema.server import idempotency_key
from moot.types.errors import Conflict

RETENTION_SECONDS = 24 * 3600.0
MAX_REQUEST_SECONDS = 3600.0  # a key reserved for longer belongs to a dead server
T = TypeVar("T")


async def reserve_idempotency_key(
    database: Database, connection: AsyncConnection, tenant: str, key: str, request: object, type_: type[T]
) -> T | None:
    """Reserve the key for this request, or return the stored reply.

    A concurrent request with the same key blocks on the INSERT until the first transaction ends. Raises Conflict if the
    key belongs to another request, or if the first request has no reply yet.
    """
    now = time.time()
    await connection.execute(delete(idempotency_key).where(idempotency_key.c.created_at < now - RETENTION_SECONDS))
    row = {"tenant": tenant, "key": key, "request": hash_request(request), "reply": "", "created_at": now}
    taken = await connection.execute(database.insert_into(idempotency_key).values(**row).on_conflict_do_nothing())
    if taken.rowcount:
        return None
    query = select(idempotency_key.c.request, idempotency_key.c.reply).where(*_key_conditions(tenant, key))
    stored = (await connection.execute(query)).one()
    if stored.request != row["request"]:
        raise Conflict("This Idempotency-Key was used for another request: use a new one.")
    if not stored.reply:
        raise Conflict("A request with this Idempotency-Key is still being answered: try again in a moment.")
    return msgspec.json.decode(stored.reply, type=type_)


async def reserve_key_for_slow_request(
    database: Database, tenant: str, key: str, request: object, type_: type[T]
) -> T | None:
    """Reserve the key in its own transaction, or return the stored reply.

    The commit comes before the slow work. So a concurrent request gets a Conflict and does not wait.
    """
    async with database.write() as connection:
        abandoned = idempotency_key.c.created_at < time.time() - MAX_REQUEST_SECONDS
        await connection.execute(
            delete(idempotency_key).where(*_key_conditions(tenant, key), idempotency_key.c.reply == "", abandoned)
        )
        return await reserve_idempotency_key(database, connection, tenant, key, request, type_)


async def release_idempotency_key(database: Database, tenant: str, key: str) -> None:
    """Delete the reservation of a failed request, so that the client can retry with the same key."""
    async with database.write() as connection:
        await connection.execute(
            delete(idempotency_key).where(*_key_conditions(tenant, key), idempotency_key.c.reply == "")
        )


async def store_idempotent_reply(connection: AsyncConnection, tenant: str, key: str, reply: object) -> None:
    encoded = msgspec.json.encode(reply).decode()
    await connection.execute(update(idempotency_key).where(*_key_conditions(tenant, key)).values(reply=encoded))


def hash_request(request: object) -> str:
    return hashlib.sha256(msgspec.json.encode(request)).hexdigest()


def _key_conditions(tenant: str, key: str) -> tuple[Any, Any]:
    return idempotency_key.c.tenant == tenant, idempotency_key.c.key == key
