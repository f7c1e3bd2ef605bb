"""Personas: found, read, copied, changed, made and deleted."""

import asyncio
import re

from playwright.async_api import Page, expect

from tests.page.axe import assert_accessible
from tests.page.discussions import open_discussion
from tests.page.phone import assert_fits_phone
from tests.page.timeouts import PAGE_TIMEOUT_SECONDS
from tests.support.moot_server import MootServer


async def test_builtin_persona_is_viewed_and_duplicated(server: MootServer, page: Page) -> None:
    await page.goto(f"{server.url}/personas")
    builtin = page.get_by_role("region", name="Included with Moot")
    await expect(builtin.get_by_role("button", name="Advocate", exact=True)).to_be_visible()
    await assert_accessible(page)
    await assert_fits_phone(page)
    await page.get_by_label("Search personas").fill("teacher")
    await expect(builtin.get_by_role("listitem")).to_have_count(1)

    await builtin.get_by_role("button", name="Teacher", exact=True).click()
    sheet = page.get_by_role("dialog", name="Teacher")
    await expect(sheet).to_contain_text("System prompt")
    await assert_accessible(page, within=sheet)
    await sheet.get_by_role("button", name="Duplicate").click()
    editor = page.get_by_role("dialog", name="Duplicate Teacher")
    await expect(editor.get_by_label("Name")).to_have_value("Teacher (copy)")
    await editor.get_by_label("Name").fill("Teacher of tables")
    await editor.get_by_role("button", name="Add persona").click()
    own = page.get_by_role("region", name="Your own")
    await expect(own.get_by_role("button", name="Teacher of tables", exact=True)).to_be_visible()
    await expect(own).to_contain_text("Not used yet")


async def test_persona_is_created_edited_and_deleted(server: MootServer, page: Page) -> None:
    await page.goto(f"{server.url}/personas")
    await page.get_by_role("button", name="New persona").click()
    editor = page.get_by_role("dialog", name="New persona")
    await expect(editor.get_by_label("Name")).to_be_focused()
    await editor.get_by_label("Name").fill("Joiner")
    await page.keyboard.press("Enter")
    await expect(editor.get_by_role("alert")).to_contain_text("Write a description or a system prompt")
    await editor.get_by_label("Description").fill("Trusts wood more than words.")
    await editor.get_by_label("Category").fill("craft")
    await editor.get_by_label("Traits").fill("blunt, patient")
    await editor.get_by_role("radio", name="Rust").check()
    await assert_accessible(page, within=editor)
    await assert_fits_phone(page)
    await editor.get_by_role("button", name="Add persona").click()
    card = page.get_by_role("region", name="Your own").get_by_role("listitem").filter(has_text="Joiner")
    await expect(card).to_contain_text("blunt · patient")

    await card.get_by_role("button", name="Joiner", exact=True).click()
    editor = page.get_by_role("dialog", name="Edit Joiner")
    await editor.get_by_label("System prompt").fill("You are a joiner.")
    await editor.get_by_role("button", name="Save").click()
    await expect(editor).to_have_count(0)
    (made,) = [one for one in (await server.get("/api/personas")).body["personas"] if not one["builtin"]]
    assert made["system_prompt"] == "You are a joiner."
    assert made["traits"] == ["blunt", "patient"]
    assert made["colour"] == "#b4532a"

    await card.get_by_role("button", name="More about Joiner").click()
    await page.get_by_role("menuitem", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(card).to_have_count(0)
    await expect(page.get_by_role("region", name="Your own")).to_have_count(0)


async def test_persona_shows_use_count_and_completion_rate(server: MootServer, page: Page) -> None:
    await open_discussion(server, participants=[{"model": "scripted/echo", "persona": "shipped_teacher"}])
    async with asyncio.timeout(PAGE_TIMEOUT_SECONDS):  # no answer waits for that to be counted
        while not (await server.get("/api/personas/shipped_teacher")).body["uses"]:
            await page.wait_for_timeout(10)
    await page.goto(f"{server.url}/personas")
    builtin = page.get_by_role("region", name="Included with Moot")
    teacher = builtin.get_by_role("listitem").filter(has_text="Teacher")
    await expect(teacher).to_contain_text(re.compile(r"Level 1\s+1 use\s+100% completed"))
