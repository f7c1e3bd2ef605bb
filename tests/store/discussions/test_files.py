import asyncio
import hashlib

import pytest
from msgspec.structs import asdict
from sqlalchemy import func, insert, select

from moot.store.database import Database
from moot.store.discussions.discussions import Discussions, add_message
from moot.store.discussions.files import CHUNK_BYTES, Files, lock_files
from moot.store.schema.discussions import blob, file
from moot.types.discussions import Message
from moot.types.errors import Conflict, NotFound
from moot.types.files import StoredFile
from moot.types.primitives import new_id
from tests.support.accounts import ANNA, BERT, create_accounts, create_discussion


@pytest.fixture
async def files(database: Database) -> Files:
    await create_accounts(database)
    return Files(database)


async def store_text_file(
    files: Files, data: bytes = b"words", *, owner: str = ANNA, name: str = "a.txt"
) -> StoredFile:
    return await files.store_file(owner, owner, name, "text/plain", hashlib.sha256(data).hexdigest(), data)


async def count_files_and_contents(database: Database) -> tuple[int, int]:
    """Count the files and their contents."""
    async with database.read() as connection:
        found = [
            (await connection.execute(select(func.count()).select_from(table))).scalar_one() for table in (file, blob)
        ]
    return found[0], found[1]


async def add_message_with_files(database: Database, *ids: str) -> str:
    """Add a message with files to a new discussion of Anna. Return the id of the discussion."""
    discussion = await create_discussion(database)
    new = Message(id=new_id("msg"), discussion=discussion.id, role="user", content="Look.", files=ids)
    async with database.write() as connection:
        await lock_files(connection, ANNA, ids)
        await add_message(connection, ANNA, new)
    return discussion.id


async def read_whole_content(files: Files, id: str, owner: str = ANNA) -> bytes:
    return b"".join([piece async for piece in files.stream_content(owner, id)])


async def test_stored_file_is_read_unchanged(files: Files) -> None:
    data = bytes(range(256)) * 10
    stored = await store_text_file(files, data, name="Grüße.bin")
    assert (stored.name, stored.size, stored.media_type) == ("Grüße.bin", 2560, "text/plain")
    assert await files.get_file(ANNA, stored.id) == stored
    assert await read_whole_content(files, stored.id) == data
    assert await files.file_contents(ANNA, [stored.id]) == {stored.id: data}


@pytest.mark.parametrize("size", [1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 2 * CHUNK_BYTES])
async def test_stream_content_returns_whole_content_at_any_chunk_boundary(files: Files, size: int) -> None:
    data = (b"0123456789abcdef" * (size // 16 + 1))[:size]
    stored = await store_text_file(files, data)
    pieces = [piece async for piece in files.stream_content(ANNA, stored.id)]
    assert max(map(len, pieces)) <= CHUNK_BYTES
    assert b"".join(pieces) == data


async def test_identical_content_is_stored_once_per_tenant(files: Files, database: Database) -> None:
    first, second = await store_text_file(files, name="a.txt"), await store_text_file(files, name="b.txt")
    assert first.id != second.id
    assert await count_files_and_contents(database) == (2, 1)
    await store_text_file(files, owner=BERT)
    assert await count_files_and_contents(database) == (3, 2)


async def test_other_tenant_cannot_access_file(files: Files) -> None:
    id = (await store_text_file(files)).id
    for what in (files.get_file(BERT, id), files.delete_file(BERT, id), files.get_file(ANNA, "file_none")):
        with pytest.raises(NotFound, match="There is no file"):
            await what
    assert await files.find_files(BERT, [id]) == {}
    assert await files.file_contents(BERT, [id]) == {}
    assert await read_whole_content(files, id, BERT) == b""
    assert await read_whole_content(files, id) == b"words"


async def test_content_is_deleted_with_its_last_file(files: Files, database: Database) -> None:
    first, second = await store_text_file(files), await store_text_file(files)
    await files.delete_file(ANNA, first.id)
    assert await read_whole_content(files, second.id) == b"words"
    assert await count_files_and_contents(database) == (1, 1)
    await files.delete_file(ANNA, second.id)
    assert await count_files_and_contents(database) == (0, 0)


async def test_delete_file_is_rejected_while_attached(files: Files, database: Database) -> None:
    stored, other = await store_text_file(files), await store_text_file(files)
    discussion = await add_message_with_files(database, other.id, stored.id)
    with pytest.raises(Conflict, match=f"attached to a message in {discussion}"):
        await files.delete_file(ANNA, stored.id)
    await Discussions(database).delete_discussion(ANNA, discussion)
    await files.delete_file(ANNA, stored.id)
    assert await count_files_and_contents(database) == (1, 1)


async def test_delete_file_matches_attached_id_literally(files: Files, database: Database) -> None:
    """In a LIKE pattern, the underscore of an id would match any character."""
    stored = await store_text_file(files)
    discussion = await create_discussion(database)
    near = stored.id.replace("_", "x")
    new = Message(id=new_id("msg"), discussion=discussion.id, role="user", content="Look.", files=(near,))
    async with database.write() as connection:
        await add_message(connection, ANNA, new)
    await files.delete_file(ANNA, stored.id)


async def test_deleted_file_cannot_be_attached(files: Files, database: Database) -> None:
    remaining, deleted = await store_text_file(files), await store_text_file(files)
    await files.delete_file(ANNA, deleted.id)
    with pytest.raises(NotFound, match=r"^files\[1\]: There is no file"):
        await add_message_with_files(database, remaining.id, deleted.id)


async def test_content_stays_stored_when_file_is_added_during_deletion(files: Files, database: Database) -> None:
    last = await store_text_file(files)
    sha256 = hashlib.sha256(b"words").hexdigest()
    async with database.write() as connection:
        await files._ensure_content(connection, ANNA, sha256, b"words")
        deleting = asyncio.create_task(files.delete_file(ANNA, last.id))
        await asyncio.wait({deleting}, timeout=0.2)  # without a lock it would end by then
        new = {**asdict(last), "id": "file_new", "tenant": ANNA, "sha256": sha256}
        await connection.execute(insert(file).values(**new))
    await deleting
    assert await read_whole_content(files, "file_new") == b"words"
    assert await count_files_and_contents(database) == (1, 1)


async def test_delete_file_waits_for_message_being_added(files: Files, database: Database) -> None:
    stored, discussion = await store_text_file(files), await create_discussion(database)
    new = Message(id=new_id("msg"), discussion=discussion.id, role="user", content="Look.", files=(stored.id,))
    async with database.write() as connection:
        await lock_files(connection, ANNA, [stored.id])
        deleting = asyncio.create_task(files.delete_file(ANNA, stored.id))
        await asyncio.wait({deleting}, timeout=0.2)
        await add_message(connection, ANNA, new)
    with pytest.raises(Conflict):
        await deleting
    assert await read_whole_content(files, stored.id) == b"words"


async def test_concurrent_add_and_delete_keep_files_whole(files: Files, database: Database) -> None:
    last = await store_text_file(files)
    for _ in range(10):
        _, last = await asyncio.gather(files.delete_file(ANNA, last.id), store_text_file(files))
        assert await read_whole_content(files, last.id) == b"words"
    assert await count_files_and_contents(database) == (1, 1)
