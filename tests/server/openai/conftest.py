from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.databases import migrated
from tests.server.talking import Talking, talking


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Talking]:
    """The application for the user of this machine, who needs no log-in."""
    async with migrated("sqlite", tmp_path) as database, talking(database) as here:
        yield here
