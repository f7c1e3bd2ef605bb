"""Sharing: downloads with all answers, the link, what it came to, and the archive."""

import json
from pathlib import Path

from playwright.async_api import Page, expect

from tests.page.axe import axe
from tests.page.reading import choose, discussed, reading

ANSWER = "A round one, of oak"


async def test_a_discussion_is_taken_along_written_down_and_archived(tmp_path: Path, page: Page) -> None:
    async with reading(page, tmp_path) as server:
        id = await discussed(server, "Round or square?", participants=["scripted/priced", "scripted/echo"])
        await page.goto(f"{server.url}/d/{id}")
        menu = page.get_by_role("button", name="Share")
        for words, ending in (("Markdown", ".md"), ("web page", ".html"), ("JSON", ".json")):
            await menu.click()
            async with page.expect_download() as download:
                await page.get_by_role("menuitem", name=f"Download as {words}").click()
            file = await download.value
            assert file.suggested_filename.endswith(ending)
            text = (await file.path()).read_text("utf-8")
            assert ANSWER in text
            assert "scripted/echo" in text
        assert json.loads(text)["discussion"]["id"] == id

        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await menu.click()
        await axe(page)
        await page.get_by_role("menuitem", name="Copy the link").click()
        await expect(page.get_by_text("The link was copied.")).to_be_visible()
        assert await page.evaluate("navigator.clipboard.readText()") == f"{server.url}/d/{id}"

        await menu.click()
        await page.get_by_role("menuitem", name="Write down what it came to").click()
        dialog = page.get_by_role("dialog", name="What it came to")
        await expect(dialog.get_by_role("combobox")).to_have_attribute("placeholder", "scripted/priced")
        await choose(dialog, "scripted/export")
        await dialog.get_by_role("button", name="Write it down").click()
        await expect(dialog).to_contain_text("Round tables help people talk.")
        await expect(dialog).to_contain_text("Useful · 72 of 100")
        await expect(dialog.get_by_role("article")).to_have_count(2)
        await axe(page)
        await dialog.get_by_role("link", name="message 1").first.click()
        await expect(dialog).to_have_count(0)
        assert "#msg_" in page.url

        await menu.click()
        await page.get_by_role("menuitem", name="Archive").click()
        shelf = page.get_by_role("navigation", name="Discussions")
        await expect(shelf.get_by_role("link", name="Round or square?")).to_have_count(0)
        await page.get_by_role("button", name="Undo").click()
        await expect(shelf.get_by_role("link", name="Round or square?")).to_be_visible()
