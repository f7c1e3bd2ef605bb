"""Uploaded files. Files of a tenant with the same content share one row of data."""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence

from sqlalchemy import Text, and_, delete, func, insert, select, type_coerce
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.schema.discussions import blob, discussion, file, message
from moot.types.errors import Conflict, NotFound, not_found
from moot.types.files import StoredFile
from moot.types.primitives import new_id

CHUNK_BYTES = 1024 * 1024

FILE_COLUMNS = [file.c[name] for name in StoredFile.__struct_fields__]
CONTENT_JOIN = and_(blob.c.tenant == file.c.tenant, blob.c.sha256 == file.c.sha256)


class Files:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def store_file(
        self, tenant: str, account: str, name: str, media_type: str, sha256: str, data: bytes
    ) -> StoredFile:
        new = StoredFile(id=new_id("file"), name=name, media_type=media_type, size=len(data), created_at=time.time())
        values = {field: getattr(new, field) for field in StoredFile.__struct_fields__}
        row = insert(file).values(**values, tenant=tenant, account=account, sha256=sha256)
        async with self._database.write() as connection:
            await self._ensure_content(connection, tenant, sha256, data)
            await connection.execute(row)
        return new

    async def _ensure_content(self, connection: AsyncConnection, tenant: str, sha256: str, data: bytes) -> None:
        """Store the content and lock its row, so that no other transaction deletes it before this one commits."""
        locked = select(blob.c.sha256).where(blob.c.tenant == tenant, blob.c.sha256 == sha256)
        locked = locked.with_for_update(read=True, key_share=True)
        new = self._database.insert_into(blob).values(tenant=tenant, sha256=sha256, data=data)
        # Retry: between INSERT and lock, another transaction can delete an existing row.
        while (await connection.execute(locked)).first() is None:
            await connection.execute(new.on_conflict_do_nothing())

    async def get_file(self, tenant: str, id: str) -> StoredFile:
        found = await self.find_files(tenant, [id])
        if id not in found:
            raise not_found("file", id)
        return found[id]

    async def find_files(self, tenant: str, ids: Sequence[str]) -> Mapping[str, StoredFile]:
        """Return metadata by id. The result omits unknown ids."""
        query = select(*FILE_COLUMNS).where(file.c.tenant == tenant, file.c.id.in_(ids))
        return {one.id: one for one in await self._database.fetch_structs(StoredFile, query)}

    async def file_contents(self, tenant: str, ids: Sequence[str]) -> Mapping[str, bytes]:
        """Return contents by id. The result omits unknown ids."""
        query = select(file.c.id, blob.c.data).join_from(file, blob, CONTENT_JOIN)
        query = query.where(file.c.tenant == tenant, file.c.id.in_(ids))
        return {row.id: row.data for row in await self._database.fetch_all(query)}

    async def stream_content(self, tenant: str, id: str) -> AsyncGenerator[bytes, None]:
        """Yield the content in chunks of one query each, so that a slow client needs little memory."""
        start, chunk = 0, b""
        while start == 0 or len(chunk) == CHUNK_BYTES:
            # A client that disconnects must not cancel a query, which would break the connection.
            chunk = await asyncio.shield(self._read_chunk(tenant, id, start))
            start += CHUNK_BYTES
            if chunk:
                yield chunk

    async def _read_chunk(self, tenant: str, id: str, start: int) -> bytes:
        cut = func.substr(blob.c.data, start + 1, CHUNK_BYTES)
        query = select(cut).select_from(file.join(blob, CONTENT_JOIN))
        return await self._database.fetch_value(query.where(file.c.tenant == tenant, file.c.id == id)) or b""

    async def delete_file(self, tenant: str, id: str) -> None:
        """Delete a file, and its content if no other file has it. Raises Conflict if a message has it attached."""
        mine = (file.c.id == id, file.c.tenant == tenant)
        async with self._database.write() as connection:
            locked = select(file.c.sha256).where(*mine).with_for_update()
            sha256 = (await connection.execute(locked)).scalar()
            if sha256 is None:
                raise not_found("file", id)
            await _reject_if_attached(connection, tenant, id)
            await connection.execute(delete(file).where(*mine))
            await _delete_unused_content(connection, tenant, sha256)


async def lock_files(connection: AsyncConnection, tenant: str, ids: Sequence[str]) -> None:
    """Lock files that a message attaches, so that no other transaction deletes them. Raises NotFound."""
    if not ids:
        return
    query = select(file.c.id).where(file.c.tenant == tenant, file.c.id.in_(ids)).order_by(file.c.id)
    locked = (await connection.execute(query.with_for_update(read=True, key_share=True))).scalars().all()
    require_files(ids, locked)


def require_files(ids: Sequence[str], existing: Sequence[str] | Mapping[str, object]) -> None:
    for index, id in enumerate(ids):
        if id not in existing:
            raise NotFound(f"files[{index}]: {not_found('file', id)}")


async def _reject_if_attached(connection: AsyncConnection, tenant: str, id: str) -> None:
    named = type_coerce(message.c.files, Text).contains(f'"{id}"', autoescape=True)
    own = select(discussion.c.id).where(discussion.c.tenant == tenant)  # limits the scan to this tenant
    query = select(message.c.discussion).where(message.c.discussion.in_(own), named).limit(1)
    if owner := (await connection.execute(query)).scalar():
        raise Conflict(f"This file is attached to a message in {owner}: delete that discussion first.")


async def _delete_unused_content(connection: AsyncConnection, tenant: str, sha256: str) -> None:
    """Delete content without files. The row lock serializes this with a concurrent upload of the same content."""
    this = (blob.c.tenant == tenant, blob.c.sha256 == sha256)
    await connection.execute(select(blob.c.sha256).where(*this).with_for_update())
    used = select(file.c.id).where(file.c.tenant == tenant, file.c.sha256 == sha256).exists()
    await connection.execute(delete(blob).where(*this, ~used))
