"""A server that is left before it ends: what a page misses then is nobody's mistake, and is not watched."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Page

from tests.page.voices import FALLBACK, VOICES
from tests.serving import MootServer, serving

SETTINGS = '\n[providers.scripted]\nscript = "voices.toml"\n'


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
    """Serve until the block ends, and take the page away first. Voices are scripts beside those of all journeys."""
    settings = prepared(folder, settings, voices)
    async with serving(folder, database_url, settings=settings, **environment) as server:
        yield server
        await left(page)


def prepared(folder: Path, settings: str, voices: str) -> str:
    """Write the scripts of all journeys and some more into a folder, and return settings that name them."""
    (folder / "voices.toml").write_text(VOICES + voices, "utf-8")
    return settings + SETTINGS + FALLBACK


async def left(page: Page) -> None:
    """Take the page away from its server."""
    await page.unroute_all(behavior="ignoreErrors")  # what is still on its way finds no server
    await page.goto("about:blank")
