"""A reload: all that was shown of a run is shown again, also what was told beside words."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from playwright.async_api import Page, expect

from tests.page.visiting import visiting
from tests.serving import MootServer

SETTINGS = """
[providers.scripted]
script = "talkers.toml"
[fallback]
"scripted/failing" = ["scripted/brief"]
"""
SCRIPT = """
[brief]
answer = "A round one."
finish = "length"
[failing]
fault = "forbidden"
delay = 0.5
"""
SAID = "[aria-label='What was said']"


@pytest_asyncio.fixture(loop_scope="session")
async def talkers(tmp_path: Path, page: Page) -> AsyncIterator[MootServer]:
    (tmp_path / "talkers.toml").write_text(SCRIPT, "utf-8")
    async with visiting(page, tmp_path, settings=SETTINGS) as server:
        yield server


async def settled(page: Page) -> str:
    """Return all words that are shown, once nobody speaks any more."""
    await expect(
        page.get_by_role("article").nth(1).get_by_role("button", name="Answer again")
    ).to_be_visible()
    await expect(page.locator("[aria-busy=true]")).to_have_count(0)
    return await page.locator(SAID).inner_text()


async def test_notices_remarks_recaps_and_finishes_are_shown_again(talkers: MootServer, page: Page) -> None:
    other = {"message": "Which chair?", "title": "Chairs", "participants": ["scripted/echo"]}
    told = await talkers.post("/api/discussions", other)
    await talkers.heard(told.body["run"]["id"])
    body = {
        "message": 'Which table, after @"Chairs" and @"Stools"?',
        "title": "Tables",
        "participants": ["scripted/brief", "scripted/failing"],
        "clerk": "scripted/clerk",
    }
    reply = await talkers.post("/api/discussions", body)
    assert reply.status == 201, reply
    address = f"{talkers.url}/d/{reply.body['discussion']['id']}"
    await page.goto(address)
    live = await settled(page)
    for words in (
        "Cut at its length limit",
        "scripted/brief is asked instead of scripted/failing.",
        "With a recap of Chairs",
        "is the title of no discussion",
    ):
        assert words in live, live
    await page.reload()
    assert await settled(page) == live


async def test_who_was_stopped_is_said_again(server: MootServer, page: Page) -> None:
    body = {"message": "Why?", "title": "Long", "participants": ["scripted/long", "scripted/long"]}
    reply = await server.post("/api/discussions", body)
    await page.goto(f"{server.url}/d/{reply.body['discussion']['id']}")
    said = page.get_by_role("main").get_by_role("status")
    await page.get_by_role("button", name="Stop Alpha").click()
    await expect(said).to_have_text("Alpha was stopped. Beta is speaking.")
    await page.reload()
    await expect(said).to_have_text("Alpha was stopped. Beta is speaking.")
    await page.get_by_role("button", name="Stop", exact=True).click()
    await expect(said).to_have_text("0 answers are there. Alpha and Beta were stopped.")
    await page.reload()
    await expect(said).to_have_text("0 answers are there. Alpha and Beta were stopped.")
