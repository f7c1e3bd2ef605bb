"""The same suite on both databases."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moot.store.database import Database
from tests.databases import KINDS, migrated, tmp_path

__all__ = ["tmp_path"]


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with migrated(request.param, tmp_path) as database:
        yield database
