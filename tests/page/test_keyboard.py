"""Without a mouse: from a question to an answer, what can be done with it, what it saw, and back."""

import re

from playwright.async_api import Locator, Page, expect

from tests.page.axe import axe
from tests.serving import MootServer

MOST_STEPS = 60


async def walk(page: Page, goal: Locator, key: str = "Tab") -> None:
    """Go from one thing to the next until the goal has the focus."""
    for _ in range(MOST_STEPS):
        if await goal.count() and await goal.evaluate("(one) => one === document.activeElement"):
            return
        await page.keyboard.press(key)
    raise AssertionError(f"{goal} is not reached by {key}")


async def test_a_question_is_asked_and_its_answer_looked_behind_by_keys_alone(
    server: MootServer, page: Page
) -> None:
    await page.goto(server.url)
    question = page.get_by_label("Your question")
    await expect(question).to_be_focused()
    await walk(page, page.get_by_role("button", name="A played debate"))
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("radio", name="Debate")).to_be_checked()
    await walk(page, page.get_by_role("radio", name="Debate"))
    chosen = page.get_by_role("radio", name="Side by side")
    await walk(page, chosen, "ArrowUp")
    await expect(chosen).to_be_checked()
    await walk(page, question, "Shift+Tab")
    await page.keyboard.press("Control+A")
    await page.keyboard.type("Round or square?")
    await page.keyboard.press("Enter")
    await page.wait_for_url(re.compile(r"/d/dis_"))

    cards = page.get_by_role("article")
    await expect(cards).to_have_count(3)
    more = cards.first.get_by_role("button", name="More about this answer")
    await expect(more).to_be_attached()
    await walk(page, more)
    await expect(more).to_be_in_viewport()
    await page.keyboard.press("Enter")
    seen = page.get_by_role("menuitem", name="What did it see?")
    await walk(page, seen, "ArrowDown")
    await axe(page)
    await page.keyboard.press("Enter")
    sheet = page.get_by_role("dialog", name=re.compile("^What did .* see"))
    await expect(sheet).to_contain_text("Round or square?")
    await page.keyboard.press("Escape")
    await expect(sheet).to_have_count(0)
    await expect(more).to_be_focused()

    await walk(page, page.get_by_role("textbox", name="Your message"))
    await page.keyboard.type("And why?")
    await page.keyboard.press("Enter")
    await expect(cards).to_have_count(6)
