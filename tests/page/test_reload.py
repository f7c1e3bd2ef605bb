"""A reload: everything of a run is shown again, notices and announcements included."""

from playwright.async_api import Page, expect

from tests.page.animation_frames import stable_text
from tests.page.discussions import open_discussion
from tests.support.moot_server import MootServer

MESSAGES_SELECTOR = "[aria-label='Messages']"


async def final_text(page: Page) -> str:
    """Return the whole text of the page, once no participant speaks any more."""
    await expect(page.get_by_role("article").nth(1).get_by_role("button", name="Regenerate")).to_be_visible()
    await expect(page.locator("[aria-busy=true]")).to_have_count(0)
    return await stable_text(page.locator(MESSAGES_SELECTOR))


async def test_reload_shows_notices_fallbacks_reference_summaries_and_finish_reasons(
    server: MootServer, page: Page
) -> None:
    await open_discussion(server, "echo", title="Chairs")
    asked = {"message": 'Which table, after @"Chairs" and @"Stools"?', "task_model": "scripted/task-model"}
    id = await open_discussion(server, "cut", "late", wait=False, **asked)
    await page.goto(f"{server.url}/d/{id}")
    live = await final_text(page)
    for words in (
        "Cut off at the length limit",
        "scripted/cut is asked instead of scripted/late.",
        "Includes a summary of Chairs",
        "is not the title of a discussion",
    ):
        assert words in live, live
    await page.reload()
    assert await final_text(page) == live


async def test_reload_announces_stopped_participants(server: MootServer, page: Page) -> None:
    id = await open_discussion(server, participants=["scripted/unending"] * 2, wait=False)
    await page.goto(f"{server.url}/d/{id}")
    announcement = page.get_by_role("main").get_by_role("status")
    await page.get_by_role("button", name="Stop Alpha").click()
    await expect(announcement).to_have_text("Alpha was stopped. Beta is speaking.")
    await page.reload()
    await expect(announcement).to_have_text("Alpha was stopped. Beta is speaking.")
    await page.get_by_role("button", name="Stop", exact=True).click()
    await expect(announcement).to_have_text("0 answers are ready. Alpha and Beta were stopped.")
    await page.reload()
    await expect(announcement).to_have_text("0 answers are ready. Alpha and Beta were stopped.")
