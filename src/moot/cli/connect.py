"""The way to a house: a server that is named, the one that has our database, or one of our own for as long as we are here."""

import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from moot.app.database_lock import holder
from moot.settings import Settings
from moot.types.errors import UsageError

TOKEN = "MOOT_TOKEN"  # noqa: S105 - the variable, not what is in it
LOOPBACK = "127.0.0.1"


class Door(Struct, frozen=True):
    """`remote` is a server that somebody named: its settings are not ours."""

    url: str
    token: str | None
    remote: bool = False

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


@asynccontextmanager
async def reached(
    server: str | None, settings: Settings, environment: Mapping[str, str]
) -> AsyncIterator[Door]:
    """Find a house, or open one; the one that is opened ends with the block."""
    token = environment.get(TOKEN) or None
    if server is not None:
        yield Door(_checked(server), token, remote=True)
    elif address := _neighbour(settings.database):
        yield Door(address, token)
    else:
        from moot.cli.serve import Guest, served

        with _any_port() as listening:
            async with served(settings, listening, loopback=True, kind=Guest) as serving:
                yield Door(serving.page.rstrip("/"), token)


def _neighbour(database: str) -> str | None:
    """Return where the process answers that has our file; on Postgres there is room for us beside others."""
    if not database.startswith("sqlite:///"):
        return None
    address = holder(Path(database.removeprefix("sqlite:///")).expanduser())
    if address == "":
        raise UsageError("Another moot is just starting on this database: try again in a moment.")
    return address and address.rstrip("/")


def _checked(server: str) -> str:
    parts = urlsplit(server)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(f"--server {server}: write an address such as https://moot.example.org.")
    return server.rstrip("/")


@contextmanager
def _any_port() -> Iterator[socket.socket]:
    with socket.create_server((LOOPBACK, 0)) as listening:
        yield listening
