"""Cards: the answer, its participant and its cost, and all actions on it."""

import re
from typing import Any

from playwright.async_api import Locator, Page, ViewportSize, expect

from tests.page.animation_frames import stable_text
from tests.page.axe import assert_accessible
from tests.page.discussions import open_discussion, wait_until_idle
from tests.page.focus import assert_focus_visible
from tests.support.moot_server import MootServer

ROWS_MATCH_JS = """(wanted) => {
    const tops = [...document.querySelectorAll("article")].map((card) => card.getBoundingClientRect().top);
    const rows = [...new Set(tops)].map((top) => tops.filter((one) => one === top).length);
    return JSON.stringify(rows) === JSON.stringify(wanted);
}"""

BACKGROUND_COLOR_JS = "(card) => getComputedStyle(card).backgroundColor"
PHONE: ViewportSize = {"width": 390, "height": 844}
# Whether each line begins with words: the point before them lies outside of what is shown.
LINE_STARTS_JS = """(line) => {
    const { left } = line.getBoundingClientRect();
    const lines = new Map();
    for (const span of line.children) {
        const { top, left: at } = span.getBoundingClientRect();
        if (!lines.has(top)) lines.set(top, at + parseFloat(getComputedStyle(span).paddingLeft));
    }
    return [...lines.values()].map((at) => Math.abs(at - left) < 1);
}"""
IS_UNCOVERED_JS = """(line) => {
    const { left, top, width, height } = line.getBoundingClientRect();
    const there = document.elementFromPoint(left + width / 3, top + height / 2);
    return line.contains(there);
}"""


def card(page: Page, name: str) -> Locator:
    return page.get_by_role("article", name=name)


async def wait_for_rows(page: Page, *rows: int) -> None:
    """Wait until so many cards are in each row."""
    await page.wait_for_function(ROWS_MATCH_JS, arg=list(rows))


async def choose_menu_item(page: Page, name: str, item: str) -> None:
    await card(page, name).get_by_role("button", name="More about this answer").click()
    await page.get_by_role("menuitem", name=item).click()


async def regenerate_with_model(page: Page, name: str, model: str) -> None:
    """Regenerate the answer of a participant with another model."""
    await choose_menu_item(page, name, "Regenerate with another model")
    picker = page.get_by_role("dialog", name=f"Change the model of {name}")
    await picker.get_by_role("combobox", name="Model", exact=True).fill(model)
    await picker.get_by_role("button", name="Regenerate").click()


async def test_failed_answer_shows_reason_and_is_retried_with_another_model(server: MootServer, page: Page) -> None:
    id = await open_discussion(server, "echo", "thinker", "unauthorized")
    await page.goto(f"{server.url}/d/{id}")
    await expect(card(page, "Echo")).to_contain_text("About Tables?")
    await expect(card(page, "Echo")).to_contain_text("free")
    await expect(card(page, "Echo")).to_contain_text(re.compile(r"first\sword\s\d+\.\d\ss"))
    thoughts = card(page, "Thinker").get_by_role("group", name="Thoughts")
    await expect(thoughts).to_be_hidden()
    await card(page, "Thinker").get_by_text("Thoughts").click()
    await expect(thoughts).to_contain_text("Who sits where?")

    failed = card(page, "Unauthorized")
    await expect(failed).to_contain_text("The key is missing or was refused")
    await expect(failed.get_by_role("link", name="Keys")).to_have_attribute("href", "/models")
    assert await failed.evaluate(BACKGROUND_COLOR_JS) != await card(page, "Echo").evaluate(BACKGROUND_COLOR_JS)
    await assert_accessible(page)

    await failed.get_by_role("button", name="Another model").click()
    picker = page.get_by_role("dialog", name="Change the model of Unauthorized")
    await picker.get_by_role("combobox", name="Model", exact=True).fill("scripted ech")
    await expect(picker.get_by_role("option", name="scripted/echo")).to_be_visible()
    await assert_accessible(page, within=picker)
    await page.keyboard.press("Enter")
    await expect(failed).to_contain_text("About Tables?")
    await expect(failed).to_contain_text("scripted/echo")
    await expect(failed.get_by_text("The key is missing")).to_have_count(0)
    assert await failed.evaluate(BACKGROUND_COLOR_JS) == await card(page, "Echo").evaluate(BACKGROUND_COLOR_JS)


async def test_card_shows_fallback_model_and_reason_also_after_reload(server: MootServer, page: Page) -> None:
    id = await open_discussion(server, "steady", "locked", wait=False)
    await page.goto(f"{server.url}/d/{id}")
    other = card(page, "Locked")
    for _ in range(2):
        await expect(other).to_contain_text("scripted/echo is asked instead of scripted/locked.")
        await expect(other).to_contain_text("Key rejected")
        await expect(other.locator("header")).to_contain_text("scripted/echo")
        await expect(other.locator(".markdown")).to_have_text("About Tables?")
        await expect(other.get_by_role("button", name="Regenerate")).to_be_visible()
        await expect(card(page, "Steady")).not_to_contain_text("asked instead")
        await page.reload()


async def test_new_version_shows_its_own_fallback_and_not_that_of_the_previous_version(
    server: MootServer, page: Page
) -> None:
    await page.goto(f"{server.url}/d/{await open_discussion(server, 'echo', 'locked')}")
    echo, other = card(page, "Echo"), card(page, "Locked")
    await regenerate_with_model(page, "Echo", "scripted/barred")
    await expect(echo).to_contain_text("scripted/unending is asked instead of scripted/barred.")
    await expect(echo.get_by_text("New version")).to_be_visible()
    await echo.get_by_role("button", name="Stop Echo").click()
    await expect(echo.locator(".markdown")).to_have_text("About Tables?")
    await expect(echo).not_to_contain_text("asked instead")
    await wait_until_idle(page)

    await expect(other).to_contain_text("scripted/echo is asked instead")
    await regenerate_with_model(page, "Locked", "scripted/scholar")
    await expect(other.get_by_text("2/2")).to_be_visible()
    await expect(other).not_to_contain_text("asked instead")
    await other.get_by_role("button", name="Earlier version").click()
    await expect(other).to_contain_text("scripted/echo is asked instead")


async def test_answer_is_regenerated_selected_edited_copied_and_its_prompt_shown(
    server: MootServer, page: Page
) -> None:
    id = await open_discussion(server, "echo", "steady")
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.goto(f"{server.url}/d/{id}")
    echo = card(page, "Echo")
    await echo.get_by_role("button", name="Regenerate").click()
    await expect(echo.get_by_text("2/2")).to_be_visible()
    await wait_until_idle(page)
    await echo.get_by_role("button", name="Earlier version").click()
    await echo.get_by_role("button", name="Use this version").click()
    await expect(echo.get_by_role("button", name="Use this version")).to_have_count(0)
    await expect(echo.get_by_text("1/2")).to_be_visible()

    await choose_menu_item(page, "Echo", "Edit")
    await echo.get_by_label("Text").fill("Because it has no head.")
    await page.keyboard.press("Control+Enter")
    await expect(echo.get_by_text("3/3")).to_be_visible()
    await expect(echo).to_contain_text("Because it has no head.")
    await expect(echo).to_contain_text("Edited")
    await echo.get_by_role("button", name="Copy this answer").click()
    await expect(page.get_by_text("Copied.")).to_be_visible()
    assert await page.evaluate("navigator.clipboard.readText()") == "Because it has no head."

    await choose_menu_item(page, "Echo", "Regenerate with another model")
    await page.get_by_role("combobox", name="Model", exact=True).fill("scripted/scholar")
    await page.get_by_role("option", name="scripted/scholar").click()
    await expect(echo.get_by_text("4/4")).to_be_visible()
    await expect(echo).to_contain_text("scripted/scholar")

    await choose_menu_item(page, "Steady", "View prompt")
    sheet = page.get_by_role("dialog", name="Prompt for Steady")
    await expect(sheet).to_contain_text("Exactly this was sent to scripted/steady")
    await expect(sheet).to_contain_text("Write in English")
    await assert_accessible(page, within=sheet)
    await sheet.get_by_role("button", name="Messages").click()
    await expect(sheet.get_by_role("listitem").filter(has_text="Write in English")).to_have_count(0)
    await expect(sheet).to_contain_text("About Tables?")
    await page.keyboard.press("Escape")
    await expect(sheet).to_have_count(0)

    # Assertions are about the selected version, not about the one that is shown.
    await wait_until_idle(page)
    counts = await stable_text(echo.locator(".markdown"))
    await echo.get_by_role("button", name="Earlier version").click()
    await expect(echo.locator(".markdown")).to_have_text("Because it has no head.")
    await choose_menu_item(page, "Echo", "Check this answer")
    evaluation = page.get_by_role("dialog", name=re.compile("^Check .* answer"))
    assert counts != "Because it has no head."
    await expect(evaluation.get_by_role("blockquote")).to_contain_text(counts)


async def test_one_participant_is_stopped_and_new_version_streams_in_its_card(server: MootServer, page: Page) -> None:
    id = await open_discussion(server, "unending", "slow", wait=False)
    await page.goto(f"{server.url}/d/{id}")
    unending, slow = card(page, "Unending"), card(page, "Slow")
    await expect(page.get_by_role("article")).to_have_count(2)
    await expect(unending).to_contain_text("table")
    await unending.get_by_role("button", name="Stop Unending").click()
    await expect(unending).to_contain_text("Stopped")
    await expect(slow.get_by_role("button", name="Copy this answer")).to_be_visible()
    await expect(slow.get_by_text("Stopped")).to_have_count(0)
    await wait_until_idle(page)
    text = await stable_text(slow.locator(".markdown"))

    await regenerate_with_model(page, "Slow", "scripted/unending")
    await expect(slow.get_by_text("New version")).to_be_visible()
    await expect(page.get_by_role("article")).to_have_count(2)
    await slow.get_by_role("button", name="Stop Slow").click()
    await expect(slow.get_by_text("New version")).to_have_count(0)
    await expect(slow.locator(".markdown")).to_have_text(text)
    await wait_until_idle(page)

    await unending.get_by_role("button", name="Retry").click()
    await expect(unending).to_have_attribute("aria-busy", "true")


async def test_interrupted_answer_shows_reason_and_failed_version_keeps_previous_answer(
    server: MootServer, page: Page
) -> None:
    id = await open_discussion(server, "echo", "reset")
    await page.goto(f"{server.url}/d/{id}")
    echo, broken = card(page, "Echo"), card(page, "Reset")
    await expect(broken).to_contain_text("May be incomplete")
    await expect(broken.locator(".markdown")).to_have_text("A table has no head when")
    await expect(broken).to_contain_text("Incomplete: The connection to scripted broke")

    await regenerate_with_model(page, "Echo", "scripted/reset")
    await expect(echo).to_contain_text("The connection to scripted broke before the answer was complete.")
    await expect(echo).to_contain_text("The earlier answer is kept.")
    await expect(echo.locator(".markdown")).to_have_text("About Tables?")
    await wait_until_idle(page)
    await assert_accessible(page, within=echo)
    await echo.get_by_role("button", name="Retry").click()
    await expect(echo.get_by_text("2/2")).to_be_visible()
    await expect(echo.get_by_text("The earlier answer is kept.")).to_have_count(0)


async def test_link_scrolls_to_answer_and_reply_reaches_only_its_participant(server: MootServer, page: Page) -> None:
    id = await open_discussion(server, "echo", "steady")
    read = await server.get(f"/api/discussions/{id}")
    answers: list[Any] = [one for one in read.body["messages"] if one["participant"] == "steady"]
    await page.goto(f"{server.url}/d/{id}#{answers[0]['id']}")
    await expect(card(page, "Steady")).to_contain_class("pointed")
    await expect(card(page, "Steady")).to_be_in_viewport()

    await choose_menu_item(page, "Echo", "Reply to this participant only")
    composer = page.get_by_role("form", name="Your message")
    await expect(composer).to_contain_text("the others do not see this message")
    await expect(composer.get_by_role("textbox")).to_be_focused()
    await page.keyboard.type("Only you?")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("To Echo only")).to_be_visible()
    await expect(card(page, "Echo")).to_have_count(2)
    await expect(card(page, "Echo").nth(1)).to_contain_text("Only you?")
    await expect(card(page, "Steady")).to_have_count(1)


async def test_answers_are_shown_in_columns_tabs_or_phone_carousel(server: MootServer, page: Page) -> None:
    id = await open_discussion(server, "echo", "steady", "thinker")
    await page.goto(f"{server.url}/d/{id}")
    cards = page.get_by_role("article")
    await expect(cards).to_have_count(3)
    await wait_for_rows(page, 3)
    await page.get_by_role("button", name="One column").press("Enter")
    await wait_for_rows(page, 1, 1, 1)
    await assert_focus_visible(page)
    await page.get_by_role("button", name="Two columns").click()
    await wait_for_rows(page, 2, 1)
    await page.reload()
    await expect(page.get_by_role("button", name="Two columns")).to_have_attribute("aria-pressed", "true")
    await wait_for_rows(page, 2, 1)
    await page.get_by_role("button", name="Three columns").click()
    await wait_for_rows(page, 3)

    await page.get_by_role("button", name="Tabs").press("Enter")
    await expect(cards).to_have_count(1)
    await assert_focus_visible(page)
    await page.get_by_role("tab", name="Echo").focus()
    await page.keyboard.press("ArrowRight")
    await expect(card(page, "Steady")).to_be_visible()
    await assert_focus_visible(page)
    await assert_accessible(page)
    # An answer to a message for one participant has no tabs, and the same width.
    with_tabs = await cards.bounding_box()
    only = await server.post(f"/api/discussions/{id}/messages", {"message": "And you?", "to": ["echo"]})
    await server.run_events(only.body["run"]["id"])
    await expect(cards).to_have_count(2)
    alone = await cards.nth(1).bounding_box()
    assert with_tabs is not None
    assert alone is not None
    assert alone["width"] == with_tabs["width"]
    await page.get_by_role("button", name="Tabs").click()

    await page.goto(f"{server.url}/d/{await open_discussion(server, 'echo', 'steady', 'thinker')}")
    await page.set_viewport_size({"width": 390, "height": 844})
    dots = page.get_by_role("group", name="Answers")
    await expect(dots.get_by_role("button", name="Echo")).to_have_attribute("aria-current", "true")
    await dots.get_by_role("button", name="Thinker").click()
    await expect(dots.get_by_role("button", name="Thinker")).to_have_attribute("aria-current", "true")
    await expect(card(page, "Thinker")).to_be_in_viewport()


async def test_card_figures_wrap_without_separator_at_line_start(server: MootServer, page: Page) -> None:
    await page.goto(f"{server.url}/d/{await open_discussion(server, 'echo', 'steady', 'thinker')}")
    figures = card(page, "Steady").locator(".figures")
    await expect(figures).to_have_text(re.compile(r"\d+ in, \d+ out\s+free\s+first word \d+\.\d s"))
    assert await figures.evaluate(LINE_STARTS_JS) == [True, True]


async def test_card_figures_are_not_covered_on_phone(server: MootServer, page: Page) -> None:
    await page.set_viewport_size(PHONE)
    await page.goto(f"{server.url}/d/{await open_discussion(server, 'brief', 'steady', 'thinker')}")
    await stable_text(card(page, "Brief").locator(".markdown"))
    figures = card(page, "Brief").locator(".figures")
    await figures.evaluate("(line) => line.scrollIntoView({ block: 'end' })")
    assert await figures.evaluate(IS_UNCOVERED_JS)


async def test_phone_dot_of_failed_answer_has_accessible_name(server: MootServer, page: Page) -> None:
    await page.set_viewport_size(PHONE)
    await page.goto(f"{server.url}/d/{await open_discussion(server, 'echo', 'unauthorized')}")
    dots = page.get_by_role("group", name="Answers")
    await expect(dots.get_by_role("button", name="Unauthorized, failed", exact=True)).to_be_visible()
    await expect(dots.get_by_role("button", name="Echo", exact=True)).to_be_visible()
