"""A server that is left before it ends: what a page misses then is nobody's mistake, and is not watched."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Page

from tests.serving import MootServer, serving


@asynccontextmanager
async def visiting(
    page: Page, folder: Path, database_url: str | None = None, *, settings: str = "", **environment: str
) -> AsyncIterator[MootServer]:
    """Serve until the block ends, and take the page away first."""
    async with serving(folder, database_url, settings=settings, **environment) as server:
        yield server
        await page.goto("about:blank")
