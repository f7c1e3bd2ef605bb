"""Server lookup for client commands: `--server`, the server that holds the database lock, or an embedded one."""

import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from moot.app.database_lock import lock_holder_address
from moot.settings import Settings
from moot.types.errors import UsageError

TOKEN_VARIABLE = "MOOT_TOKEN"  # noqa: S105 - a variable name, not a token
LOOPBACK_HOST = "127.0.0.1"


class ServerAddress(Struct, frozen=True):
    url: str
    token: str | None
    is_remote: bool = False  # given by --server, so its settings and models are unknown here

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


@asynccontextmanager
async def connect_to_server(
    server: str | None, settings: Settings, environment: Mapping[str, str]
) -> AsyncIterator[ServerAddress]:
    """Yield the address of a server. An embedded server stops at the end of the block."""
    token = environment.get(TOKEN_VARIABLE) or None
    if server is not None:
        yield ServerAddress(_validate_server_url(server), token, is_remote=True)
    elif address := _local_server_url(settings.database_address):
        yield ServerAddress(address, token)
    else:
        from moot.cli.serve import EmbeddedServer, start_server

        with socket.create_server((LOOPBACK_HOST, 0)) as listener:
            async with start_server(settings, listener, loopback=True, server_class=EmbeddedServer) as running_server:
                yield ServerAddress(running_server.page_url.rstrip("/"), token)


def _local_server_url(database: str) -> str | None:
    """Return the URL of the process that holds the SQLite lock. None for Postgres, which servers can share.

    Raises UsageError if that process is still starting.
    """
    if not database.startswith("sqlite:///"):
        return None
    address = lock_holder_address(Path(database.removeprefix("sqlite:///")).expanduser())
    if address == "":
        raise UsageError("Another moot is starting on this database. Try again in a moment.")
    return address and address.rstrip("/")


def _validate_server_url(server: str) -> str:
    parts = urlsplit(server)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(f"--server {server}: not a URL. Use one such as https://moot.example.org.")
    return server.rstrip("/")
