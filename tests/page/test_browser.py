"""The browser of the journeys is there, and what must never happen is seen."""

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Page, async_playwright

from tests.page.axe import assert_accessible
from tests.page.browser import BrowserNotFound, launch_browser
from tests.page.patience import PAGE_TIMEOUT_SECONDS
from tests.page.watching import PageErrors


async def test_a_page_that_can_be_used_by_everybody_passes(page: Page) -> None:
    await page.set_content('<html lang="en"><title>Here</title><main><h1>Here</h1><p>Words</p></main>')
    await assert_accessible(page)


async def test_a_button_without_a_name_does_not(page: Page) -> None:
    await page.set_content('<html lang="en"><title>Here</title><main><h1>Here</h1><button></button></main>')
    with pytest.raises(AssertionError, match="button-name"):
        await assert_accessible(page)


async def test_axe_looks_only_within_a_part_when_it_is_given_one(page: Page) -> None:
    grey = '<p style="color: #ccc; background: #fff">Words</p>'
    await page.set_content(f'<html lang="en"><title>Here</title><main>{grey}</main><footer>Words</footer>')
    await assert_accessible(page, within=page.locator("footer"))
    with pytest.raises(AssertionError, match="color-contrast"):
        await assert_accessible(page, within=page.locator("main"))


@pytest.mark.parametrize(
    ("does", "seen"),
    [
        ("console.error('lost')", "console error: lost"),
        ("setTimeout(() => { throw new Error('lost') })", "error: .*lost"),
        ("alert('lost')", "dialog: lost"),
        ("new Image().src = 'https://elsewhere.invalid/x.png'", "another host: https://elsewhere.invalid"),
    ],
)
async def test_what_must_not_happen_is_seen(
    page: Page, page_errors: PageErrors, does: str, seen: str
) -> None:
    await page.set_content(f"<script>{does}</script>")
    async with asyncio.timeout(PAGE_TIMEOUT_SECONDS):
        while not page_errors.problems:
            await page.wait_for_timeout(10)
    with pytest.raises(AssertionError, match=seen):
        page_errors.assert_none()
    page_errors.allow(".*")


async def test_browser_is_named_in_one_line_when_there_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    async with async_playwright() as playwright:
        with pytest.raises(BrowserNotFound, match=r"^No Chromium is installed: install one with `.+`\.$"):
            await launch_browser(playwright)
