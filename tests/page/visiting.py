"""A server that is left before it ends: what a page misses then is nobody's mistake, and is not watched."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Page

from tests.serving import MootServer, serving

SETTINGS = '\n[providers.scripted]\nscript = "voices.toml"\n'
# It speaks until it is stopped, however long a test takes to do that.
UNENDING = """
[unending]
answer = "A table has no head. "
fault = "endless"
pace = 0.25
"""


@asynccontextmanager
async def visiting(
    page: Page,
    folder: Path,
    database_url: str | None = None,
    *,
    settings: str = "",
    voices: str = "",
    **environment: str,
) -> AsyncIterator[MootServer]:
    """Serve until the block ends, and take the page away first. Voices are scripts beside those that ship."""
    (folder / "voices.toml").write_text(UNENDING + voices, "utf-8")
    async with serving(folder, database_url, settings=settings + SETTINGS, **environment) as server:
        yield server
        await page.unroute_all(behavior="ignoreErrors")  # what is still on its way finds no server
        await page.goto("about:blank")
