"""The way to a house: a server that is named, the one that has our database, or one of our own for as long as we are here."""

import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from moot.app.database_lock import lock_holder_address
from moot.settings import Settings
from moot.types.errors import UsageError

TOKEN_VARIABLE = "MOOT_TOKEN"  # noqa: S105 - the variable, not what is in it
LOOPBACK_HOST = "127.0.0.1"


class ServerAddress(Struct, frozen=True):
    """`remote` is a server that somebody named: its settings are not ours."""

    url: str
    token: str | None
    is_remote: bool = False

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


@asynccontextmanager
async def connect_to_server(
    server: str | None, settings: Settings, environment: Mapping[str, str]
) -> AsyncIterator[ServerAddress]:
    """Find a house, or open one; the one that is opened ends with the block."""
    token = environment.get(TOKEN_VARIABLE) or None
    if server is not None:
        yield ServerAddress(_validate_server_url(server), token, is_remote=True)
    elif address := _local_server_url(settings.database_address):
        yield ServerAddress(address, token)
    else:
        from moot.cli.serve import EmbeddedServer, start_server

        with _listen_on_free_port() as listening:
            async with start_server(
                settings, listening, loopback=True, server_class=EmbeddedServer
            ) as serving:
                yield ServerAddress(serving.page_url.rstrip("/"), token)


def _local_server_url(database: str) -> str | None:
    """Return where the process answers that has our file; on Postgres there is room for us beside others."""
    if not database.startswith("sqlite:///"):
        return None
    address = lock_holder_address(Path(database.removeprefix("sqlite:///")).expanduser())
    if address == "":
        raise UsageError("Another moot is just starting on this database: try again in a moment.")
    return address and address.rstrip("/")


def _validate_server_url(server: str) -> str:
    parts = urlsplit(server)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(f"--server {server}: write an address such as https://moot.example.org.")
    return server.rstrip("/")


@contextmanager
def _listen_on_free_port() -> Iterator[socket.socket]:
    with socket.create_server((LOOPBACK_HOST, 0)) as listening:
        yield listening
