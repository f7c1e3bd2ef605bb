from pathlib import Path

import pytest

from moot.app.database_lock import lock_database
from moot.cli.connect import ServerAddress, connect_to_server
from moot.settings import Settings
from moot.types.errors import UsageError


async def test_connect_to_server_uses_given_url_and_token() -> None:
    async with connect_to_server("https://moot.example/", Settings(), {"MOOT_TOKEN": "moot_x"}) as connection:
        assert connection == ServerAddress("https://moot.example", "moot_x", is_remote=True)
        assert connection.headers == {"Authorization": "Bearer moot_x"}


async def test_connect_to_server_sends_no_header_without_token() -> None:
    async with connect_to_server("https://moot.example", Settings(), {}) as connection:
        assert connection.headers == {}


@pytest.mark.parametrize("server", ["moot.example", "ftp://moot.example", "http://", ""])
async def test_connect_to_server_rejects_invalid_url(server: str) -> None:
    with pytest.raises(UsageError, match=r"not a URL\. Use one such as"):
        async with connect_to_server(server, Settings(), {}):
            pass


async def test_connect_to_server_uses_server_that_locks_database(tmp_path: Path) -> None:
    settings = Settings(database_url=f"sqlite:///{tmp_path / 'moot.db'}")
    with lock_database(tmp_path / "moot.db", "http://127.0.0.1:4711/"):
        async with connect_to_server(None, settings, {}) as connection:
            assert connection == ServerAddress("http://127.0.0.1:4711", None)


async def test_connect_to_server_rejects_server_that_is_starting(tmp_path: Path) -> None:
    settings = Settings(database_url=f"sqlite:///{tmp_path / 'moot.db'}")
    with lock_database(tmp_path / "moot.db", ""), pytest.raises(UsageError, match="is starting"):
        async with connect_to_server(None, settings, {}):
            pass
