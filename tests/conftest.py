"""Fixtures that most tests need: the fake provider on a socket, and an environment without keys."""

import gc
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import is_hypothesis_test, settings

from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS, Scripts
from moot.providers.transport import Transport
from moot.testing.provider_server import FakeProviderServer, serve_provider
from tests.support.provider_turns import ProviderServerSetup

TESTS_FOLDER = Path(__file__).parent
# The compiled modules are stored (in __pycache__) also where the environment says otherwise: else each worker compiles all
# tests again, and each process that a test starts compiles all of Moot again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Collecting tests makes many objects and no garbage, so the collector waits until it is done: a fifth of that time.
gc.disable()
# Property tests run in both rings: with few examples in the first, with many in the second. The examples are the same
# in every run; `--hypothesis-seed=random` looks for others.
settings.register_profile("default ring", deadline=None, derandomize=True, database=None, max_examples=20)
settings.register_profile("slow ring", deadline=None, derandomize=True, database=None, max_examples=200)


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("slow ring" if _is_slow_ring(config) else "default ring")


def pytest_xdist_auto_num_workers() -> int:
    """Run two files per processor: half of the time a test waits for a process of its own."""
    return 2 * len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2 * (os.cpu_count() or 1)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the files that take longest first: whole systems, the page's own tests, the browser, everything else."""
    long = [TESTS_FOLDER, TESTS_FOLDER / "web", TESTS_FOLDER / "page"]
    items.sort(key=lambda item: long.index(item.path.parent) if item.path.parent in long else len(long))
    if _is_slow_ring(config):
        for item in items:
            if is_hypothesis_test(getattr(item, "obj", None)):
                item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    gc.enable()


def _is_slow_ring(config: pytest.Config) -> bool:
    return str(config.getoption("-m")) == "slow"


@pytest.fixture
async def provider_server() -> AsyncIterator[ProviderServerSetup]:
    served = FakeProviderServer(Scripts(BUILT_IN_SCRIPTS))
    transport = Transport()
    async with serve_provider(served) as url:
        yield ProviderServerSetup(served, url, transport)
        await transport.aclose()


@pytest.fixture(autouse=True)
def without_provider_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests never see the keys or settings of the person who runs them."""
    for name in list(os.environ):
        if name.lower().endswith(("_api_key", "_base_url", "_proxy")) or name.startswith("MOOT_"):
            monkeypatch.delenv(name)
