"""Fixtures of the tests of `engine` and `services`: most have no SQL of their own and need one database."""

import asyncio
import gc
import warnings
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from moot.store.database import Database
from tests.databases import SLOW_ON_POSTGRES, migrated, tmp_path
from tests.engine.works import Works
from tests.store.people import settle
from tests.store.running import OTHER, WORKER, employ

__all__ = ["database", "tmp_path", "works"]


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=SLOW_ON_POSTGRES)
async def works(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Works]:
    """The same for all tests, because DBOS takes its time to start and to end."""
    async with migrated(request.param, tmp_path_factory.mktemp("works")) as database:
        await settle(database)
        await employ(database, WORKER, OTHER)
        works = Works(database)
        writing = asyncio.create_task(works.journal.write_forever())
        await works.runs.launch()  # while it looks for runs to take up, it would find those of the first test
        yield works
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        await works.runs.close()
        with warnings.catch_warnings():  # DBOS leaves connections open when it ends
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with migrated(request.param, tmp_path) as database:
        yield database
