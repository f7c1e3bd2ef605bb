"""Replies that were given, by the key of the request: a request that comes twice is done once."""

import hashlib
import time
from typing import Any, TypeVar

import msgspec
from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.schema import idempotency
from moot.types.errors import Conflict

RETENTION_SECONDS = 24 * 3600.0
MAX_REQUEST_SECONDS = 3600.0  # after which nobody is at work on a reply any more: its server has died
T = TypeVar("T")


async def reserve_idempotency_key(
    database: Database, connection: AsyncConnection, tenant: str, key: str, request: object, type_: type[T]
) -> T | None:
    """Take the key for this request, or return the reply that it was given before.

    Of two that come at once, the second waits here for the first one's transaction; where what was asked for takes
    longer than that, it is refused until there is a reply.
    """
    now = time.time()
    await connection.execute(delete(idempotency).where(idempotency.c.created_at < now - RETENTION_SECONDS))
    row = {"tenant": tenant, "key": key, "request": hash_request(request), "reply": "", "created_at": now}
    taken = await connection.execute(database.insert_into(idempotency).values(**row).on_conflict_do_nothing())
    if taken.rowcount:
        return None
    query = select(idempotency.c.request, idempotency.c.reply).where(*_key_conditions(tenant, key))
    kept = (await connection.execute(query)).one()
    if kept.request != row["request"]:
        raise Conflict("This Idempotency-Key was used for another request: use a new one.")
    if not kept.reply:
        raise Conflict("A request with this Idempotency-Key is still being answered: ask again in a moment.")
    return msgspec.json.decode(kept.reply, type=type_)


async def reserve_key_for_slow_request(
    database: Database, tenant: str, key: str, request: object, type_: type[T]
) -> T | None:
    """Take the key for a request whose reply will take a while, or return the reply that it was given before."""
    async with database.write() as connection:
        forsaken = idempotency.c.created_at < time.time() - MAX_REQUEST_SECONDS
        await connection.execute(
            delete(idempotency).where(*_key_conditions(tenant, key), idempotency.c.reply == "", forsaken)
        )
        return await reserve_idempotency_key(database, connection, tenant, key, request, type_)


async def release_idempotency_key(database: Database, tenant: str, key: str) -> None:
    """Let the key be used again: nothing came of the request."""
    async with database.write() as connection:
        await connection.execute(
            delete(idempotency).where(*_key_conditions(tenant, key), idempotency.c.reply == "")
        )


async def store_idempotent_reply(connection: AsyncConnection, tenant: str, key: str, reply: object) -> None:
    kept = msgspec.json.encode(reply).decode()
    await connection.execute(update(idempotency).where(*_key_conditions(tenant, key)).values(reply=kept))


def hash_request(request: object) -> str:
    return hashlib.sha256(msgspec.json.encode(request)).hexdigest()


def _key_conditions(tenant: str, key: str) -> tuple[Any, Any]:
    return idempotency.c.tenant == tenant, idempotency.c.key == key
