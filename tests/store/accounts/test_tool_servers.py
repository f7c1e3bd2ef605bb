import pytest
from sqlalchemy import select, update

from moot.store.accounts import tool_servers
from moot.store.accounts.tool_servers import ToolServers
from moot.store.database import Database
from moot.store.encryption import Encryptor
from moot.store.schema.accounts import tool_server
from moot.types.errors import Conflict, MissingKey, NotFound
from tests.support.accounts import ANNA, BERT, create_accounts

SECRET = "8Zq1vW0nT5yRk3LxPb7cJd9mHs2gFa4u"
URL = "https://tools.example/mcp"
HEADERS = {"Authorization": "Bearer sk-canary"}


@pytest.fixture
async def servers(database: Database) -> ToolServers:
    await create_accounts(database)
    return ToolServers(database, Encryptor(SECRET))


async def test_server_is_stored_replaced_and_deleted_per_tenant(servers: ToolServers) -> None:
    await servers.store_server(ANNA, "notes", "https://old.example", {})
    await servers.store_server(ANNA, "notes", URL, HEADERS)
    assert await servers.load_server(ANNA, "notes") == (URL, HEADERS)
    assert [(one.name, one.url) for one in await servers.list_servers(ANNA)] == [("notes", URL)]
    assert (await servers.load_server(BERT, "notes"), list(await servers.list_servers(BERT))) == (None, [])
    with pytest.raises(NotFound):
        await servers.delete_server(BERT, "notes")
    await servers.delete_server(ANNA, "notes")
    for name in ("notes", "\0"):
        with pytest.raises(NotFound):
            await servers.delete_server(ANNA, name)


async def test_headers_are_encrypted_for_their_url(servers: ToolServers, database: Database) -> None:
    await servers.store_server(ANNA, "notes", URL, HEADERS)
    async with database.write() as connection:
        (encrypted,) = (await connection.execute(select(tool_server.c.sealed))).scalars()
        await connection.execute(update(tool_server).values(url="https://evil.example"))
    assert b"canary" not in encrypted
    with pytest.raises(MissingKey, match="store it again"):
        await servers.load_server(ANNA, "notes")


async def test_store_server_rejects_more_than_maximum(servers: ToolServers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_servers, "MAX_SERVERS", 1)
    await servers.store_server(ANNA, "one", URL, {})
    await servers.store_server(ANNA, "one", URL, {})
    with pytest.raises(Conflict, match="delete one first"):
        await servers.store_server(ANNA, "two", URL, {})
