"""Fixtures of the tests of `engine` and `services`: most have no SQL of their own and need one database."""

import asyncio
import gc
import warnings
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from moot.store.database import Database
from tests.support.accounts import create_accounts
from tests.support.databases import SLOW_ON_POSTGRES, open_migrated_database, tmp_path
from tests.support.run_harness import RunHarness
from tests.support.runs import OTHER_WORKER, WORKER, register_workers

__all__ = ["database", "run_harness", "tmp_path"]


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=SLOW_ON_POSTGRES)
async def run_harness(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[RunHarness]:
    """The same for all tests, because DBOS takes its time to start and to end."""
    async with open_migrated_database(request.param, tmp_path_factory.mktemp("works")) as database:
        await create_accounts(database)
        await register_workers(database, WORKER, OTHER_WORKER)
        works = RunHarness(database)
        writing = asyncio.create_task(works.event_writer.write_forever())
        await works.run_manager.launch()  # while it looks for runs to take up, it would find those of the first test
        yield works
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        await works.run_manager.close()
        with warnings.catch_warnings():  # DBOS leaves connections open when it ends
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with open_migrated_database(request.param, tmp_path) as database:
        yield database
