"""A server that is left before it ends: what a page misses then is nobody's mistake, and is not watched."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Page

from tests.page.scripted_models import FALLBACK_SETTINGS, SCRIPTS
from tests.support.moot_server import MootServer, run_moot_server

SCRIPT_SETTINGS = '\n[providers.scripted]\nscript = "voices.toml"\n'


@asynccontextmanager
async def run_server_for_page(
    page: Page,
    folder: Path,
    database_url: str | None = None,
    *,
    settings: str = "",
    scripts: str = "",
    **environment: str,
) -> AsyncIterator[MootServer]:
    """Serve until the block ends, and take the page away first. Voices are scripts beside those of all journeys."""
    settings = write_script_settings(folder, settings, scripts)
    async with run_moot_server(folder, database_url, settings=settings, **environment) as server:
        yield server
        await leave_server(page)


def write_script_settings(folder: Path, settings: str, scripts: str) -> str:
    """Write the scripts of all journeys and some more into a folder, and return settings that name them."""
    (folder / "voices.toml").write_text(SCRIPTS + scripts, "utf-8")
    return settings + SCRIPT_SETTINGS + FALLBACK_SETTINGS


async def leave_server(page: Page) -> None:
    """Take the page away from its server."""
    await page.unroute_all(behavior="ignoreErrors")  # what is still on its way finds no server
    await page.goto("about:blank")
