import asyncio
from pathlib import Path

import pytest
from sqlalchemy import select, update

from moot.store.accounts.provider_keys import ProviderKeys
from moot.store.database import Database
from moot.store.encryption import Encryptor
from moot.store.schema.accounts import provider_key
from moot.types.errors import MissingKey, NotFound
from tests.support.accounts import ANNA, BERT, create_accounts
from tests.support.database_files import read_database_files
from tests.support.databases import open_migrated_database

ENCRYPTOR = Encryptor("8Zq1vW0nT5yRk3LxPb7cJd9mHs2gFa4u")
OPENAI_ORIGIN = "https://api.openai.com"
CANARY_KEY = "sk-canary-0123456789"


async def store_canary_key(database: Database) -> ProviderKeys:
    await create_accounts(database)
    keys = ProviderKeys(database, ENCRYPTOR)
    await keys.store_key(ANNA, "openai", OPENAI_ORIGIN, CANARY_KEY)
    return keys


async def test_key_is_returned_only_for_its_tenant_provider_and_origin(database: Database) -> None:
    keys = await store_canary_key(database)
    assert await keys.secret(ANNA, "openai", OPENAI_ORIGIN) == CANARY_KEY
    assert await keys.secret(BERT, "openai", OPENAI_ORIGIN) is None
    assert await keys.secret(ANNA, "groq", OPENAI_ORIGIN) is None
    assert await keys.secret(ANNA, "openai", "https://evil.example") is None


async def test_list_keys_does_not_reveal_secret(database: Database) -> None:
    keys = await store_canary_key(database)
    shown = await keys.list_keys(ANNA)
    assert shown["openai"].origin == OPENAI_ORIGIN
    assert shown["openai"].created_at > 0
    assert CANARY_KEY not in repr(shown)
    assert await keys.list_keys(BERT) == {}


async def test_store_key_replaces_previous_key(database: Database) -> None:
    keys = await store_canary_key(database)
    await keys.store_key(ANNA, "openai", "https://gateway.example", "sk-newer")
    assert await keys.secret(ANNA, "openai", OPENAI_ORIGIN) is None
    assert await keys.secret(ANNA, "openai", "https://gateway.example") == "sk-newer"
    await asyncio.gather(*(keys.store_key(ANNA, "openai", OPENAI_ORIGIN, f"sk-{n}") for n in range(8)))
    assert str(await keys.secret(ANNA, "openai", OPENAI_ORIGIN)).startswith("sk-")


async def test_delete_key_removes_only_own_key(database: Database) -> None:
    keys = await store_canary_key(database)
    await keys.store_key(BERT, "openai", OPENAI_ORIGIN, "sk-bert")
    await keys.delete_key(ANNA, "openai")
    assert await keys.list_keys(ANNA) == {}
    assert await keys.secret(BERT, "openai", OPENAI_ORIGIN) == "sk-bert"
    for provider in ("openai", "never", "\x00"):
        with pytest.raises(NotFound):
            await keys.delete_key(ANNA, provider)


@pytest.mark.parametrize("moved", [{"tenant": BERT}, {"provider": "groq"}, {"origin": "https://evil.example"}], ids=str)
async def test_secret_is_rejected_when_its_row_was_moved(database: Database, moved: dict[str, str]) -> None:
    keys = await store_canary_key(database)
    async with database.write() as connection:
        await connection.execute(update(provider_key).values(**moved))
    place = {"tenant": ANNA, "provider": "openai", "origin": OPENAI_ORIGIN} | moved
    with pytest.raises(MissingKey, match="store it again") as caught:
        await keys.secret(**place)
    assert CANARY_KEY not in str(caught.value)


async def test_stored_row_does_not_contain_plain_key(database: Database) -> None:
    await store_canary_key(database)
    async with database.read() as connection:
        (row,) = (await connection.execute(select(provider_key))).all()
    assert CANARY_KEY not in repr(row)
    assert CANARY_KEY.encode() not in row.sealed


async def test_database_files_do_not_contain_plain_key(tmp_path: Path) -> None:
    async with open_migrated_database("sqlite", tmp_path) as database:
        await store_canary_key(database)
        stored = read_database_files(tmp_path)
    assert OPENAI_ORIGIN.encode() in stored
    assert CANARY_KEY.encode() not in stored


async def test_concurrent_reads_share_one_query_and_later_reads_see_new_key(
    database: Database,
) -> None:
    keys = await store_canary_key(database)
    assert await asyncio.gather(*(keys.secret(ANNA, "openai", OPENAI_ORIGIN) for _ in range(12))) == [CANARY_KEY] * 12
    await keys.store_key(ANNA, "openai", OPENAI_ORIGIN, "sk-newer")
    assert await keys.secret(ANNA, "openai", OPENAI_ORIGIN) == "sk-newer"
