"""A server of one test. The page leaves it before it ends, so that lost connections are not errors."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Page

from tests.page.scripted_models import FALLBACK_SETTINGS, SCRIPTS
from tests.support.moot_server import MootServer, run_moot_server

SCRIPT_SETTINGS = '\n[providers.scripted]\nscript = "scripts.toml"\n'


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
    """Serve until the block ends; the page leaves the server first. `scripts` are added to the common scripts."""
    settings = write_script_settings(folder, settings, scripts)
    async with run_moot_server(folder, database_url, settings=settings, **environment) as server:
        yield server
        await leave_server(page)


def write_script_settings(folder: Path, settings: str, scripts: str) -> str:
    """Write the common scripts and more scripts into a folder, and return settings that name them."""
    (folder / "scripts.toml").write_text(SCRIPTS + scripts, "utf-8")
    return settings + SCRIPT_SETTINGS + FALLBACK_SETTINGS


async def leave_server(page: Page) -> None:
    """Move the page to about:blank."""
    await page.unroute_all(behavior="ignoreErrors")  # pending requests find no server
    await page.goto("about:blank")
