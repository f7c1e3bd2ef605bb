"""Prices: what a question would cost before it is sent, what an answer did cost, and what is too dear."""

import re
from pathlib import Path

from playwright.async_api import Page, expect

from moot.providers.scripted.scripts import Script, Scripts
from moot.testing.provider_server import FakeProviderServer
from moot.testing.provider_server import serve_provider as performing
from tests.page.axe import assert_accessible
from tests.page.dedicated_server import run_server_for_page
from tests.page.discussions import open_discussion
from tests.page.page_errors import PageErrors
from tests.support.moot_server import MootServer

SETTINGS = """
weekly_budget_usd = 0.05
[providers.club]
api = "openai"
base_url = "{lab}/v1"
key_env = "CLUB_KEY"
"""
SCRIPTS = """
[cheap]
usd_per_million_tokens = 3.0
answer = "Oak."
[dear]
usd_per_million_tokens = 1000000.0
answer = "Gold."
"""


async def open_discussion_with_models(server: MootServer, *models: str) -> str:
    """Create a discussion that has cost nothing yet, and give it other participants."""
    id = await open_discussion(server, message="Which wood?", participants=["scripted/echo"] * len(models))
    participants = [{"model": model, "name": model.split("/")[1].capitalize()} for model in models]
    changed = await server.call("PATCH", f"/api/discussions/{id}", {"participants": participants})
    assert changed.status == 200, changed
    return id


async def test_price_is_estimated_before_and_shown_after_and_unknown_is_not_zero(
    tmp_path: Path, page: Page, page_errors: PageErrors
) -> None:
    page_errors.allow("status of 402")  # a message above the budget is rejected
    async with (
        performing(FakeProviderServer(Scripts({"unpriced": Script(answer="Elm.")}))) as lab,
        run_server_for_page(
            page, tmp_path, settings=SETTINGS.format(lab=lab), scripts=SCRIPTS, CLUB_KEY="sk-club"
        ) as server,
    ):
        await page.goto(
            f"{server.url}/d/{await open_discussion_with_models(server, 'scripted/cheap', 'club/unpriced')}"
        )
        box = page.get_by_role("textbox", name="Your message")
        await box.fill("Oak or elm?")
        price = page.get_by_role("button", name=re.compile(r"^At least \d\.?\d*¢, 2 calls$"))
        await price.click()
        sheet = page.get_by_role("group", name="Price")
        await expect(sheet.get_by_role("row").filter(has_text="Cheap")).to_contain_text(re.compile(r"¢"))
        await expect(sheet.get_by_role("row").filter(has_text="Unpriced")).to_contain_text("price unknown")
        await expect(sheet).to_contain_text("No price is known for club/unpriced.")
        await expect(sheet).to_contain_text(re.compile(r"\$0\.05 are left of your budget"))
        await assert_accessible(page, within=sheet)
        await page.keyboard.press("Escape")
        await box.press("Enter")
        cheap = page.get_by_role("article", name="Cheap")
        await expect(cheap).to_contain_text(re.compile(r"19\sin,\s1\sout\s+0\.0060¢"))
        await expect(page.get_by_role("article", name="Unpriced")).to_contain_text(re.compile(r"price\sunknown"))

        await page.goto(f"{server.url}/d/{await open_discussion_with_models(server, 'scripted/dear')}")
        await box.fill("Gold?")
        over = "That is more than the $0.05 that is left of your budget this week."
        price = page.get_by_role("button", name=over)
        await expect(price).to_be_visible()
        await price.click()
        await expect(sheet.get_by_role("alert")).to_have_text(over)
        await page.keyboard.press("Escape")
        await expect(sheet.get_by_role("alert")).to_have_count(0)
        await box.press("Enter")
        alert = page.get_by_role("form", name="Your message").get_by_role("alert")
        await expect(alert).to_contain_text("budget")
        await expect(box).to_have_value("Gold?")
        await alert.get_by_role("link", name="See the budget").click()
        await expect(page.get_by_role("region", name="This week's budget")).to_contain_text("left of $0.05")
