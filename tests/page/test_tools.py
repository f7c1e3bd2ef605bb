"""Tools on the page: who may call which, what was called, and the question whether it may be."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from playwright.async_api import Locator, Page, expect

from tests.page.axe import axe
from tests.page.visiting import visiting
from tests.serving import MootServer
from tests.tools.servers import COMMAND

SETTINGS = f'\n[tools.notes]\ncommand = {json.dumps(COMMAND)}\nenv = ["NOTES"]\n'
VOICES = """
[writer]
answer = "I keep **that**."
then = "I was told: {result}"
tool = { name = "notes__write_down", arguments = '{"text": "<b>Round.</b>"}' }
"""


@pytest_asyncio.fixture(loop_scope="session")
async def writing(tmp_path: Path, page: Page) -> AsyncIterator[MootServer]:
    """Serve a voice that writes something down, where it may."""
    notes = str(tmp_path / "notes.txt")
    async with visiting(page, tmp_path, settings=SETTINGS, voices=VOICES, NOTES=notes) as server:
        yield server


def card(page: Page) -> Locator:
    return page.get_by_role("article", name="Writer")


async def ask(server: MootServer, page: Page) -> None:
    seat = {"model": "scripted/writer", "tools": ["notes"], "name": "Writer"}
    body = {"message": "Keep this.", "participants": [seat], "title": "Notes"}
    id = (await server.post("/api/discussions", body)).body["discussion"]["id"]
    await page.goto(f"{server.url}/d/{id}")


async def test_a_voice_is_given_a_tool_and_calls_it_once_it_is_allowed(
    writing: MootServer, page: Page, tmp_path: Path
) -> None:
    await page.goto(writing.url)
    await page.get_by_role("button", name="Add a voice").click()
    voice = page.get_by_role("dialog", name="Add a voice")
    await voice.get_by_role("combobox", name="Model").fill("scripted/writer")
    await voice.get_by_label("Name").fill("Writer")
    await voice.get_by_text("Tools", exact=True).click()
    tools = voice.get_by_role("group", name="notes")
    await tools.get_by_label("write_down (has effects, you are asked)").check()
    await axe(page)
    await voice.get_by_role("button", name="Add to the table").click()
    await expect(page.get_by_role("button", name="Edit Writer")).to_contain_text("has tools")
    await page.get_by_role("textbox", name="Your question").fill("Keep this.")
    await page.get_by_role("textbox", name="Your question").press("Control+Enter")

    question = card(page).get_by_role("region", name="May Writer call notes/write_down?")
    await expect(question).to_contain_text('"text": "<b>Round.</b>"')
    await expect(question).to_contain_text("min left")
    await expect(page.get_by_role("status").filter(has_text="Writer asks whether it may call")).to_be_attached()
    await expect(page.get_by_role("img", name="waits for your answer")).to_be_visible()
    await axe(page)
    assert not (tmp_path / "notes.txt").exists()

    await page.reload()
    await question.get_by_role("button", name="Allow", exact=True).press("Enter")
    await expect(question).to_be_hidden()
    await expect(card(page)).to_contain_text("I was told: Written.")
    for _ in range(2):
        call = card(page).locator("summary", has_text="notes/write_down")
        await expect(call).to_have_text(re.compile(r"notes/write_down\s+done in \d+\.\d s"))
        await call.press("Enter")
        await expect(card(page).get_by_role("group", name="Result of notes/write_down")).to_have_text("Written.")
        given = card(page).get_by_role("group", name="Arguments of notes/write_down")
        await expect(given).to_contain_text("<b>Round.</b>")
        await axe(page)
        await page.reload()
    assert (tmp_path / "notes.txt").read_text("utf-8") == "<b>Round.</b>\n"


async def test_what_is_refused_is_not_done(writing: MootServer, page: Page, tmp_path: Path) -> None:
    await ask(writing, page)
    await card(page).get_by_role("button", name="Refuse").click()
    await expect(card(page)).to_contain_text("I was told: The person refused this call.")
    await expect(card(page).locator("summary", has_text="notes/write_down")).to_contain_text("failed")
    await expect(page.get_by_role("img", name="waits for your answer")).to_have_count(0)
    assert not (tmp_path / "notes.txt").exists()
