from pathlib import Path

import pytest

from moot.app.database_lock import lock_database
from moot.cli.connect import ServerAddress, connect_to_server
from moot.settings import Settings
from moot.types.errors import UsageError


async def test_a_server_that_is_named_is_taken_with_the_token() -> None:
    async with connect_to_server("https://moot.example/", Settings(), {"MOOT_TOKEN": "moot_x"}) as door:
        assert door == ServerAddress("https://moot.example", "moot_x", is_remote=True)
        assert door.headers == {"Authorization": "Bearer moot_x"}


async def test_without_a_token_none_is_sent() -> None:
    async with connect_to_server("https://moot.example", Settings(), {}) as door:
        assert door.headers == {}


@pytest.mark.parametrize("server", ["moot.example", "ftp://moot.example", "http://", ""])
async def test_what_is_no_address_is_refused(server: str) -> None:
    with pytest.raises(UsageError, match="write an address such as"):
        async with connect_to_server(server, Settings(), {}):
            pass


async def test_whoever_has_our_database_is_called(tmp_path: Path) -> None:
    settings = Settings(database_url=f"sqlite:///{tmp_path / 'moot.db'}")
    with lock_database(tmp_path / "moot.db", "http://127.0.0.1:4711/"):
        async with connect_to_server(None, settings, {}) as door:
            assert door == ServerAddress("http://127.0.0.1:4711", None)


async def test_one_that_is_just_starting_is_told(tmp_path: Path) -> None:
    settings = Settings(database_url=f"sqlite:///{tmp_path / 'moot.db'}")
    with lock_database(tmp_path / "moot.db", ""), pytest.raises(UsageError, match="just starting"):
        async with connect_to_server(None, settings, {}):
            pass
