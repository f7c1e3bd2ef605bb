"""The embedded model, loaded once for all tests of a process."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from moot.providers.local import LocalProvider
from tests.providers.preloaded_provider import PreloadedLocalProvider


@pytest.fixture(scope="session")
def loaded_server() -> Iterator[list[Any]]:
    """Load the demonstration model into a list. Emptying the list at the end frees the model in time."""
    loaded = [LocalProvider()._load_server()]
    yield loaded
    loaded.clear()


@pytest.fixture
async def local_provider(loaded_server: list[Any]) -> AsyncIterator[LocalProvider]:
    provider = PreloadedLocalProvider(loaded_server)
    yield provider
    await provider.aclose()
