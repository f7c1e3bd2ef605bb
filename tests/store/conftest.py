"""The same suite on both databases."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moot.store import database as stored
from moot.store.database import Database
from tests.databases import KINDS, migrated, tmp_path

__all__ = ["tmp_path"]


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let many wait for one file as long as it takes on a busy machine."""
    monkeypatch.setattr(stored, "BUSY_SECONDS", 60.0)


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with migrated(request.param, tmp_path) as database:
        yield database
