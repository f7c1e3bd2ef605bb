"""Tool servers of tenants: URL and encrypted headers, which are never shown."""

import time
from collections.abc import Sequence

import msgspec
from msgspec import Struct
from sqlalchemy import ColumnElement, delete, func, select

from moot.store.database import Database
from moot.store.encryption import Encryptor
from moot.store.schema.accounts import tool_server
from moot.types.errors import Conflict, MissingKey, NotFound

MAX_SERVERS = 50  # per tenant


class StoredToolServer(Struct, frozen=True, kw_only=True):
    """A server as the API returns it, without the headers."""

    name: str
    url: str
    created_at: float


class ToolServers:
    def __init__(self, database: Database, encryptor: Encryptor) -> None:
        self._database = database
        self._encryptor = encryptor

    async def store_server(self, tenant: str, name: str, url: str, headers: dict[str, str]) -> None:
        """Insert or replace the server. Raises Conflict if there are MAX_SERVERS others."""
        sealed = self._encryptor.encrypt(msgspec.json.encode(headers).decode(), tenant, "tool server", name, url)
        values = {"url": url, "sealed": sealed, "created_at": time.time()}
        query = self._database.insert_into(tool_server).values(tenant=tenant, name=name, **values)
        others = select(func.count()).where(tool_server.c.tenant == tenant, tool_server.c.name != name)
        async with self._database.write() as connection:
            if (await connection.execute(others)).scalar_one() >= MAX_SERVERS:
                raise Conflict(f"There are {MAX_SERVERS} tool servers already: delete one first.")
            await connection.execute(query.on_conflict_do_update(index_elements=["tenant", "name"], set_=values))

    async def delete_server(self, tenant: str, name: str) -> None:
        query = delete(tool_server).where(*_server_conditions(tenant, name))
        if not name.isprintable() or not await self._database.execute(query):
            raise NotFound(f"You have no tool server {name!r}.")

    async def list_servers(self, tenant: str) -> Sequence[StoredToolServer]:
        columns = (tool_server.c.name, tool_server.c.url, tool_server.c.created_at)
        query = select(*columns).where(tool_server.c.tenant == tenant).order_by(tool_server.c.name)
        return await self._database.fetch_structs(StoredToolServer, query)

    async def load_server(self, tenant: str, name: str) -> tuple[str, dict[str, str]] | None:
        """Return URL and headers, or None if there is no such server. Raises MissingKey if decryption fails."""
        query = select(tool_server.c.url, tool_server.c.sealed).where(*_server_conditions(tenant, name))
        row = await self._database.fetch_first(query)
        if row is None:
            return None
        headers = self._encryptor.decrypt(row.sealed, tenant, "tool server", name, row.url)
        if headers is None:
            raise MissingKey(
                f"The headers stored for {name} cannot be read: store it again with PUT /api/tool-servers/{name}."
            )
        return row.url, msgspec.json.decode(headers, type=dict[str, str])


def _server_conditions(tenant: str, name: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return tool_server.c.tenant == tenant, tool_server.c.name == name
