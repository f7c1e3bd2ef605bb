"""Usage: sums, plots with their tables, and the budget of the week."""

import re

from playwright.async_api import Page, expect

from tests.page.axe import assert_accessible
from tests.page.discussions import open_titled_discussion
from tests.page.shared_server import SharedServer, log_in_new_account
from tests.support.moot_server import MootServer


async def test_usage_shows_totals_plots_and_weekly_budget(shared_server: SharedServer, page: Page) -> None:
    async with log_in_new_account(shared_server, page, budget=1) as server:
        discussion = await open_titled_discussion(server, "Round or square?")
        await page.goto(f"{server.url}/usage")
        models = page.get_by_role("region", name="By model")
        await expect(models.get_by_role("row").filter(has_text="scripted/priced")).to_contain_text("$0.0")
        link = page.get_by_role("region", name="By discussion").get_by_role("link", name="Round or square?")
        await expect(link).to_have_attribute("href", f"/d/{discussion}")
        await expect(page.get_by_role("region", name="By purpose")).to_contain_text("Answers")
        days = page.get_by_role("region", name="By day")
        await expect(days.get_by_role("img")).to_have_attribute("aria-label", re.compile("^Cost by day"))
        await days.get_by_text("Show as a table").click()
        await expect(days.get_by_role("row")).to_have_count(2)
        await assert_accessible(page)
        height = await page.evaluate("document.documentElement.scrollHeight")
        assert height == await page.evaluate("innerHeight"), "the page scrolls beside what is shown in it"

        await page.get_by_role("button", name="Tokens", exact=True).click()
        await expect(days.get_by_role("img")).to_have_attribute("aria-label", re.compile("^Tokens by day"))
        await page.get_by_role("button", name="7 days").click()
        await expect(page).to_have_url(f"{server.url}/usage?days=7")
        await page.reload()
        await expect(page.get_by_role("button", name="7 days")).to_have_attribute("aria-pressed", "true")

        budget = page.get_by_role("region", name="This week's budget")
        await expect(budget).to_contain_text("left of $1.00")
        await budget.get_by_role("button", name="Reset this week").click()
        await page.get_by_role("dialog").get_by_role("button", name="Reset").click()
        await expect(budget).to_contain_text("Already reset this week")
        await expect(budget).to_contain_text("$0 spent")


async def test_empty_usage_links_to_new_discussion_and_fits_dark_phone(server: MootServer, page: Page) -> None:
    await page.set_viewport_size({"width": 390, "height": 844})
    await page.emulate_media(color_scheme="dark")
    await page.goto(f"{server.url}/usage")
    await expect(page.get_by_role("link", name="Start a discussion")).to_be_visible()
    await expect(page.get_by_text("No spending limit")).to_be_visible()
    await assert_accessible(page)
    await open_titled_discussion(server, "Round or square?")
    await page.reload()
    await expect(page.get_by_role("region", name="By model")).to_contain_text("scripted/priced")
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390
