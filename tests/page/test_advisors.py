"""Advisors: their states, one that is inactive and activated again, cross talk, and the synthesis."""

from typing import Any

from playwright.async_api import Page, expect

from tests.page.axe import assert_accessible
from tests.page.phone import assert_fits_phone
from tests.support.moot_server import MootServer

ADVISORS_REQUEST: dict[str, Any] = {
    "message": "My partner wants to sell the workshop.",
    "title": "The workshop",
    "mode": "advisors",
    "advisors": {"question_turns": 1, "cross_talk": True, "synthesis": True},
    "participants": [
        {"model": "scripted/scholar", "name": "Ida"},
        {"model": "scripted/thinker", "name": "Ben"},
        {"model": "scripted/unauthorized", "name": "Cy"},
        {"model": "scripted/scholar", "name": "Dora", "active": False},
    ],
}


async def test_advisors_ask_questions_first_and_inactive_advisor_is_activated(server: MootServer, page: Page) -> None:
    reply = await server.post("/api/discussions", ADVISORS_REQUEST)
    assert reply.status == 201, reply
    await server.run_events(reply.body["run"]["id"])
    await page.goto(f"{server.url}/d/{reply.body['discussion']['id']}")
    first = page.get_by_role("region", name="Answers to: My partner wants")
    await expect(first.get_by_text("Asking, round 1 of 1", exact=True)).to_have_count(3)
    await expect(first.get_by_role("region", name="Replies to each other").get_by_role("article")).to_have_count(2)
    await expect(first.get_by_role("region", name="Synthesis").get_by_role("article")).to_be_visible()

    roster = page.get_by_role("region", name="Who answers next")
    dora = roster.get_by_role("switch", name="Dora")
    await expect(dora).to_have_attribute("aria-checked", "false")
    await expect(dora).to_contain_text("paused")
    await expect(roster.get_by_role("switch", name="Ida")).to_contain_text("advising")
    await assert_accessible(page)
    await dora.press("Space")
    await expect(dora).to_have_attribute("aria-checked", "true")
    await roster.get_by_role("switch", name="Ben").click()
    await expect(roster.get_by_role("switch", name="Ben")).to_contain_text("paused")

    await page.get_by_role("textbox", name="Your message").fill("We have had it for nine years.")
    await page.keyboard.press("Enter")
    second = page.get_by_role("region", name="Answers to: We have had it")
    await expect(second.get_by_text("Advising", exact=True)).to_have_count(1)
    await expect(second.get_by_text("Asking, round 1 of 1", exact=True)).to_have_count(2)
    await expect(second.get_by_role("region", name="Synthesis")).to_be_visible()
    await expect(page.get_by_role("region", name="Who answers next")).to_have_count(1)
    await assert_fits_phone(page)


async def test_advisors_synthesis_is_enabled_within_discussion(server: MootServer, page: Page) -> None:
    table = {
        **ADVISORS_REQUEST,
        "advisors": {"question_turns": 0},
        "participants": ["scripted/scholar", "scripted/thinker"],
    }
    opened = (await server.post("/api/discussions", table)).body
    await server.run_events(opened["run"]["id"])
    await page.goto(f"{server.url}/d/{opened['discussion']['id']}")
    synthesis = page.get_by_role("switch", name="Synthesis")
    await expect(synthesis).to_have_attribute("aria-checked", "false")
    await expect(page.get_by_role("region", name="Synthesis")).to_have_count(0)
    await synthesis.click()
    await expect(synthesis).to_have_attribute("aria-checked", "true")
    options = (await server.get(f"/api/discussions/{opened['discussion']['id']}")).body["discussion"]["advisors"]
    assert options == {"question_turns": 0, "synthesis": True}
    await page.get_by_role("textbox", name="Your message").fill("We have had it for nine years.")
    await page.keyboard.press("Enter")
    second = page.get_by_role("region", name="Answers to: We have had it")
    await expect(second.get_by_role("region", name="Synthesis").get_by_role("article")).to_be_visible()
