"""The browser of the page tests works, and forbidden errors are detected."""

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Page, async_playwright

from tests.page.axe import assert_accessible
from tests.page.browser import BrowserNotFound, launch_browser
from tests.page.page_errors import PageErrors
from tests.page.timeouts import PAGE_TIMEOUT_SECONDS


async def test_axe_accepts_accessible_page(page: Page) -> None:
    await page.set_content('<html lang="en"><title>Here</title><main><h1>Here</h1><p>Words</p></main>')
    await assert_accessible(page)


async def test_axe_rejects_button_without_name(page: Page) -> None:
    await page.set_content('<html lang="en"><title>Here</title><main><h1>Here</h1><button></button></main>')
    with pytest.raises(AssertionError, match="button-name"):
        await assert_accessible(page)


async def test_axe_checks_only_the_given_locator(page: Page) -> None:
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
async def test_page_errors_are_recorded_for_console_exception_dialog_and_foreign_request(
    page: Page, page_errors: PageErrors, does: str, seen: str
) -> None:
    await page.set_content(f"<script>{does}</script>")
    async with asyncio.timeout(PAGE_TIMEOUT_SECONDS):
        while not page_errors.problems:
            await page.wait_for_timeout(10)
    with pytest.raises(AssertionError, match=seen):
        page_errors.assert_none()
    page_errors.allow(".*")


async def test_launch_browser_reports_install_command_when_none_is_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    async with async_playwright() as playwright:
        with pytest.raises(BrowserNotFound, match=r"^No Chromium is installed: install one with `.+`\.$"):
            await launch_browser(playwright)
