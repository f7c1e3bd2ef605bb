"""The browser's contexts: one for each device, emptied after each test.

A new context has an empty cache, so its first page loads and compiles Moot's page again: half a second of processor
time for each test. A context that stays keeps that cache and nothing else.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Browser, BrowserContext, Frame, Page, ViewportSize

from tests.page.timeouts import PAGE_TIMEOUT_MILLISECONDS

DESKTOP: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}


class BrowserContexts:
    """The contexts of one browser. Each opens its first page when a test needs it."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._reusable: dict[str, BrowserContext] = {}

    @asynccontextmanager
    async def desktop(self) -> AsyncIterator[Page]:
        async with self._open_page("desktop", viewport=DESKTOP) as page:
            yield page

    @asynccontextmanager
    async def phone(self) -> AsyncIterator[Page]:
        async with self._open_page("phone", viewport=PHONE, has_touch=True, is_mobile=True) as page:
            yield page

    @asynccontextmanager
    async def _open_page(self, device: str, **options: Any) -> AsyncIterator[Page]:
        """Open an empty page without cookies, stored data or permissions."""
        context = self._reusable.pop(device, None) or await self._new_context(options)
        page = await context.new_page()
        origins: set[str] = set()
        page.on("framenavigated", lambda frame: origins.add(_origin(frame)))
        yield page
        await _reset_context(context, page, origins)
        self._reusable[device] = (
            context  # after a test that failed in `_reset_context`, the next one gets a new context
        )

    async def _new_context(self, options: dict[str, Any]) -> BrowserContext:
        context = await self._browser.new_context(reduced_motion="reduce", **options)
        context.set_default_timeout(PAGE_TIMEOUT_MILLISECONDS)
        return context


async def _reset_context(context: BrowserContext, page: Page, origins: set[str]) -> None:
    await context.set_offline(False)
    await context.clear_permissions()
    await context.clear_cookies()
    await page.goto("about:blank")  # so that nothing is written after the storage is cleared
    session = await context.new_cdp_session(page)
    for origin in origins:
        await session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "local_storage"})
    for one in context.pages:
        await one.close()


def _origin(frame: Frame) -> str:
    address = urlsplit(frame.url)
    return f"{address.scheme}://{address.netloc}"
