"""A real Chromium for the tests of the page, started once; every test gets an empty page.

The browser outlives a test, so these tests and their fixtures run in the loop of the session: an async fixture
says `@pytest_asyncio.fixture(loop_scope="session")`.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Playwright, async_playwright, expect

from tests.page.browser import BrowserNotFound, launch_browser
from tests.page.contexts import BrowserContexts
from tests.page.page_errors import PageErrors
from tests.page.shared_server import SharedServer, log_in_new_account, run_shared_server
from tests.page.timeouts import PAGE_TIMEOUT_MILLISECONDS
from tests.support.moot_server import MootServer
from tests.support.node import install_node_packages, rebuild_page

expect.set_options(timeout=PAGE_TIMEOUT_MILLISECONDS)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests of this folder in the loop in which the browser lives."""
    for item in items:
        if item.path.parent == Path(__file__).parent and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def contexts() -> AsyncIterator[BrowserContexts]:
    install_node_packages()
    rebuild_page()
    async with async_playwright() as playwright:
        browser = await _launch_browser_or_fail(playwright)
        yield BrowserContexts(browser)
        await browser.close()


async def _launch_browser_or_fail(playwright: Playwright) -> Browser:
    try:
        return await launch_browser(playwright)
    except BrowserNotFound as none:
        missing = str(none)
    pytest.fail(missing, pytrace=False)


@pytest_asyncio.fixture(loop_scope="session")
async def page(contexts: BrowserContexts) -> AsyncIterator[Page]:
    """Open an empty page without data of other tests."""
    async with contexts.desktop() as page:
        yield page


@pytest_asyncio.fixture(loop_scope="session", autouse=True)
async def page_errors(page: Page) -> AsyncIterator[PageErrors]:
    """Fail a test on console errors, violations of the content policy, dialogs and requests to other hosts."""
    watch = PageErrors(page)
    yield watch
    watch.assert_none()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SharedServer]:
    """Serve Moot and its page as a process of its own, for all tests of this process."""
    async with run_shared_server(tmp_path_factory.mktemp("shared_server")) as shared:
        yield shared


@pytest_asyncio.fixture(loop_scope="session")
async def server(shared_server: SharedServer, page: Page) -> AsyncIterator[MootServer]:
    """Log in a new account without data, on the page and in every call of the server."""
    async with log_in_new_account(shared_server, page) as server:
        yield server
