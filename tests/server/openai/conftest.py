from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.app_fixture import LocalApp, create_local_app
from tests.support.databases import open_migrated_database


@pytest.fixture
async def local_app(tmp_path: Path) -> AsyncIterator[LocalApp]:
    """The application for the user of this machine, without a login."""
    async with open_migrated_database("sqlite", tmp_path) as database, create_local_app(database) as app:
        yield app
