from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.accounts import database_with_accounts
from tests.support.databases import SLOW_ON_POSTGRES
from tests.support.evaluation_app import EvaluationApp, create_evaluation_app


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def harness(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[EvaluationApp]:
    async with (
        database_with_accounts(request.param, tmp_path) as database,
        create_evaluation_app(database) as app,
    ):
        yield app
