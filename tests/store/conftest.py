"""The tests of this folder run on both databases."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moot.store import database as stored
from moot.store.database import Database
from tests.support.databases import DATABASE_KINDS, open_migrated_database, tmp_path

__all__ = ["tmp_path"]


@pytest.fixture(autouse=True)
def _wait_long_for_sqlite(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let many writers wait for one SQLite file on a busy machine."""
    monkeypatch.setattr(stored, "BUSY_SECONDS", 60.0)


@pytest.fixture(params=DATABASE_KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with open_migrated_database(request.param, tmp_path) as database:
        yield database
