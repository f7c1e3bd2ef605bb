"""Routes contain no SQL, so one database is enough. Tests that depend on the database ask for both."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moot.store.database import Database
from tests.server.account_app import AccountApp, create_account_app
from tests.support.databases import SLOW_ON_POSTGRES, open_migrated_database, tmp_path
from tests.support.fast_passwords import fast_password_hashing

__all__ = ["fast_password_hashing", "tmp_path"]


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with open_migrated_database(request.param, tmp_path) as database:
        yield database


@pytest.fixture
async def account_app(database: Database) -> AsyncIterator[AccountApp]:
    async with create_account_app(database) as app:
        yield app


@pytest.fixture
async def sqlite_account_app(tmp_path: Path) -> AsyncIterator[AccountApp]:
    """An app on SQLite."""
    async with open_migrated_database("sqlite", tmp_path) as database, create_account_app(database) as app:
        yield app
