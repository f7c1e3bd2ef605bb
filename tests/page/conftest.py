"""A real Chromium for the page's journeys, started once; every test gets an empty page.

The browser outlives a test, so these tests and their fixtures run in the loop of the session: an async fixture here
says `@pytest_asyncio.fixture(loop_scope="session")`.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Playwright, async_playwright, expect

from tests.node import install, refresh
from tests.page.browser import NoBrowser, launched
from tests.page.contexts import Contexts
from tests.page.guests import House, guest, hosting
from tests.page.patience import PATIENCE_MILLISECONDS
from tests.page.watching import Watch
from tests.serving import MootServer

expect.set_options(timeout=PATIENCE_MILLISECONDS)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests of this folder in the loop in which the browser lives."""
    for item in items:
        if item.path.parent == Path(__file__).parent and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def contexts() -> AsyncIterator[Contexts]:
    install()
    refresh()
    async with async_playwright() as playwright:
        browser = await _launched(playwright)
        yield Contexts(browser)
        await browser.close()


async def _launched(playwright: Playwright) -> Browser:
    try:
        return await launched(playwright)
    except NoBrowser as none:
        missing = str(none)
    pytest.fail(missing, pytrace=False)


@pytest_asyncio.fixture(loop_scope="session")
async def page(contexts: Contexts) -> AsyncIterator[Page]:
    """Open an empty page without data of other tests."""
    async with contexts.desktop() as page:
        yield page


@pytest_asyncio.fixture(loop_scope="session", autouse=True)
async def watch(page: Page) -> AsyncIterator[Watch]:
    """Fail a test on console errors, refusals by the content policy, dialogs and requests to other hosts."""
    watch = Watch(page)
    yield watch
    watch.clean()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """Serve Moot and its page as a process of its own, for all tests of this process."""
    async with hosting(tmp_path_factory.mktemp("house")) as house:
        yield house


@pytest_asyncio.fixture(loop_scope="session")
async def server(house: House, page: Page) -> AsyncIterator[MootServer]:
    """Be a guest with nobody's data; the page is logged in, and so is whoever calls the server."""
    async with guest(house, page) as server:
        yield server
