"""Participants that speak in turn: rounds, the current speaker, continue, and stop."""

import re

from playwright.async_api import Page, expect

from tests.page.axe import assert_accessible
from tests.page.discussions import open_discussion
from tests.page.test_lesson import LESSON_REQUEST
from tests.support.moot_server import MootServer


async def test_consensus_shows_rounds_continues_and_stops(server: MootServer, page: Page) -> None:
    body = {
        "message": "Round or square?",
        "mode": "consensus",
        "rounds": 2,
        "participants": ["scripted/echo", "scripted/echo"],
    }
    opened = (await server.post("/api/discussions", body)).body
    await page.goto(f"{server.url}/d/{opened['discussion']['id']}")
    messages = page.get_by_role("region", name="Messages")
    await expect(messages.get_by_role("heading", name="Round 2")).to_be_visible()
    table = page.get_by_role("group", name="Continue without a message")
    await expect(table).to_be_visible()
    await expect(messages.get_by_role("article")).to_have_count(4)
    await assert_accessible(page)

    await expect(table.get_by_label("Number of turns")).to_have_value("2")
    await table.get_by_label("Number of turns").fill("51")
    await expect(table.get_by_role("button", name="Continue")).to_be_disabled()
    await table.get_by_label("Number of turns").fill("8")
    await table.get_by_role("button", name="Continue").click()
    await expect(messages.get_by_role("heading", name="Continued, turns 7 to 8")).to_be_visible()
    await expect(table).to_be_visible()
    await page.reload()  # where a person may be reading, nothing folds
    await expect(messages.get_by_role("heading", name="Continued, turns 1 to 2")).to_be_visible()
    await expect(messages.get_by_role("article")).to_have_count(8)  # the first of many rounds fold

    await server.call("PATCH", f"/api/discussions/{opened['discussion']['id']}", _with_endless_beta(opened))
    await table.get_by_label("Number of turns").fill("2")
    await table.get_by_role("button", name="Continue").click()
    await expect(messages).to_contain_text("Beta is speaking")
    stop = messages.get_by_role("button", name="Stop here")
    await expect(stop).to_have_accessible_description(re.compile("ends this answer and all remaining turns"))
    await expect(messages.get_by_role("button", name="Stop Beta")).to_have_attribute(
        "title", "Stop Beta for this and all later turns. The others continue."
    )
    await expect(page.get_by_role("button", name="Stop", exact=True)).to_have_attribute(
        "title", "Stop all participants and cancel the remaining turns (Esc)"
    )
    await assert_accessible(page, within=messages)
    await stop.click()
    await expect(messages).not_to_contain_text("is speaking")
    await expect(table).to_be_visible()


async def test_continue_adds_turns_to_single_and_directed_modes(server: MootServer, page: Page) -> None:
    await page.goto(f"{server.url}/d/{await open_discussion(server, 'echo', mode='single')}")
    table = page.get_by_role("group", name="Continue without a message")
    messages = page.get_by_role("region", name="Messages")
    await expect(table.get_by_label("Number of turns")).to_have_value("1")
    await table.get_by_role("button", name="Continue").click()
    await expect(messages.get_by_role("heading", name="Continued, turn 1")).to_be_visible()
    await expect(messages.get_by_role("article")).to_have_count(2)
    await expect(table).to_be_visible()

    id = await open_discussion(server, **LESSON_REQUEST | {"directed": {"turns": 1, "first_speaker": "Alpha"}})
    await page.goto(f"{server.url}/d/{id}")
    await expect(messages.get_by_text("The lesson is over.")).to_have_count(1)
    await table.get_by_label("Number of turns").fill("21")
    await expect(table.get_by_role("button", name="Continue")).to_be_disabled()
    await table.get_by_label("Number of turns").fill("1")
    await table.get_by_role("button", name="Continue").click()
    await expect(messages.get_by_text("The lesson is over. The one turn was taken.")).to_have_count(2)
    await expect(messages.get_by_role("listitem")).to_have_count(2)


async def test_continue_is_not_offered_in_advisors_mode(server: MootServer, page: Page) -> None:
    await page.goto(f"{server.url}/d/{await open_discussion(server, 'echo', 'steady', mode='advisors')}")
    await expect(page.get_by_role("region", name="Who answers next")).to_be_visible()
    await expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
    await expect(page.get_by_role("group", name="Continue without a message")).to_have_count(0)


def _with_endless_beta(created: dict[str, dict[str, list[dict[str, str]]]]) -> dict[str, object]:
    alpha, beta = created["discussion"]["participants"]
    return {"participants": [alpha, beta | {"model": "scripted/unending"}]}
