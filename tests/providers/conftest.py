"""The embedded model, loaded once for all tests of a process that speak with it."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from moot.providers.local import LocalProvider
from tests.providers.preloaded_provider import PreloadedLocalProvider


@pytest.fixture(scope="session")
def loaded_server() -> Iterator[list[Any]]:
    """Load the demonstration model into a list that is emptied at the end, so that the model is freed in time."""
    held = [LocalProvider()._load_server()]
    yield held
    held.clear()


@pytest.fixture
async def local_provider(loaded_server: list[Any]) -> AsyncIterator[LocalProvider]:
    provider = PreloadedLocalProvider(loaded_server)
    yield provider
    await provider.aclose()
