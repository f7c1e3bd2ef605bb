"""Routes have no SQL of their own, and need one database; what differs by database says that it needs both."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moot.store.database import Database
from tests.databases import SLOW_ON_POSTGRES, migrated, tmp_path
from tests.server.house import House, built
from tests.store.hashing import quick_passwords

__all__ = ["quick_passwords", "tmp_path"]


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with migrated(request.param, tmp_path) as database:
        yield database


@pytest.fixture
async def house(database: Database) -> AsyncIterator[House]:
    async with built(database) as house:
        yield house


@pytest.fixture
async def cottage(tmp_path: Path) -> AsyncIterator[House]:
    """A house on the embedded database."""
    async with migrated("sqlite", tmp_path) as database, built(database) as house:
        yield house
