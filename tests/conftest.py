"""Fixtures that most tests need: the lab on a socket, and an environment without anybody's keys."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import settings

from moot.lab.server import Lab, serving
from moot.providers.scripts import BUILT_IN, Scripts
from moot.providers.transport import Transport
from tests.taking import LabServer

HERE = Path(__file__).parent
settings.register_profile("moot", deadline=None)  # a rule is true on a slow machine too
settings.load_profile("moot")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take longest come first: whole systems, then the page, then everything else."""
    items.sort(key=lambda item: (item.path.parent != HERE, item.path.parent != HERE / "page"))


@pytest.fixture
async def lab() -> AsyncIterator[LabServer]:
    served = Lab(Scripts(BUILT_IN))
    transport = Transport()
    async with serving(served) as url:
        yield LabServer(served, url, transport)
        await transport.aclose()


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests never see the keys or settings of whoever runs them."""
    for name in list(os.environ):
        if name.lower().endswith(("_api_key", "_base_url", "_proxy")) or name.startswith("MOOT_"):
            monkeypatch.delenv(name)
