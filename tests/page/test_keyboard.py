"""The page without a mouse: from a question to an answer, its actions and its prompt, and back."""

import re

import pytest
from playwright.async_api import Locator, Page, expect

from tests.page.axe import assert_accessible
from tests.page.discussions import open_discussion, wait_until_idle
from tests.page.focus import assert_focus_visible
from tests.page.test_lesson import LESSON_REQUEST
from tests.page.timeouts import KEEP_TOASTS_JS
from tests.support.moot_server import MootServer

MAX_STEPS = 60
IS_FOCUSED_JS = "(all) => all.length === 1 && all[0] === document.activeElement"


async def move_focus_to(page: Page, goal: Locator, key: str = "Tab") -> None:
    """Go from one thing to the next until the goal has the focus."""
    await expect(goal).to_be_attached()
    for _ in range(MAX_STEPS):
        if await goal.evaluate_all(IS_FOCUSED_JS):
            return
        await page.keyboard.press(key)
    raise AssertionError(f"{goal} is not reached by {key}")


async def move_focus_and_press(page: Page, goal: Locator, *keys: str, by: str = "Tab") -> None:
    """Go to something and act on it."""
    await move_focus_to(page, goal, by)
    for key in keys or ("Enter",):
        await page.keyboard.press(key)


async def choose_menu_item(page: Page, container: Locator, item: str) -> None:
    """Choose from the menu of an answer or of a message."""
    await move_focus_and_press(page, container.get_by_role("button", name=re.compile("^More about this")))
    await move_focus_and_press(page, page.get_by_role("menuitem", name=item), by="ArrowDown")


async def test_answer_actions_work_by_keyboard_and_keep_focus(server: MootServer, page: Page) -> None:
    await page.goto(f"{server.url}/d/{await open_discussion(server, 'echo', 'unauthorized')}")
    echo, failed = (page.get_by_role("article", name=name) for name in ("Echo", "Unauthorized"))
    await move_focus_and_press(page, echo.get_by_role("button", name="Regenerate"))
    await expect(echo.get_by_text("2/2")).to_be_visible()
    await wait_until_idle(page)
    await assert_focus_visible(page)
    await move_focus_and_press(page, echo.get_by_role("button", name="Earlier version"))
    await expect(echo.get_by_text("1/2")).to_be_visible()
    await assert_focus_visible(page)
    await move_focus_and_press(page, echo.get_by_role("button", name="Use this version"))
    await expect(echo.get_by_role("button", name="Use this version")).to_have_count(0)
    await assert_focus_visible(page)

    await choose_menu_item(page, echo, "Edit")
    await expect(echo.get_by_label("Text")).to_be_focused()
    await page.keyboard.press("Control+A")
    await page.keyboard.type("No head.")
    await page.keyboard.press("Control+Enter")
    await expect(echo.get_by_text("3/3")).to_be_visible()
    await assert_focus_visible(page)
    await choose_menu_item(page, echo, "Edit")
    await page.keyboard.press("Escape")
    await expect(echo.get_by_label("Text")).to_have_count(0)
    await assert_focus_visible(page)
    await choose_menu_item(page, echo, "View prompt")
    sheet = page.get_by_role("dialog", name="Prompt for Echo")
    await expect(sheet).to_contain_text("About Tables?")
    await page.keyboard.press("Escape")
    await expect(sheet).to_have_count(0)
    await assert_focus_visible(page)

    await choose_menu_item(page, echo, "Regenerate with another model")
    await expect(page.get_by_role("combobox", name="Model", exact=True)).to_be_focused()
    await page.keyboard.type("scripted stea")
    await expect(page.get_by_role("option", name="scripted/steady")).to_be_visible()
    await page.keyboard.press("Enter")
    await expect(echo.get_by_text("4/4")).to_be_visible()
    await wait_until_idle(page)
    await assert_focus_visible(page)
    await move_focus_and_press(page, failed.get_by_role("button", name="Retry"))
    await expect(page.get_by_text("Retrying failed participants")).to_be_visible()
    await wait_until_idle(page)
    await expect(failed.get_by_role("button", name="Retry")).to_be_visible()
    await assert_focus_visible(page)

    asked = page.get_by_role("region", name="Messages")
    await move_focus_to(page, asked, "Shift+Tab")
    await choose_menu_item(page, asked.locator(".asked"), "Edit the message")
    await expect(asked.get_by_label("Text")).to_be_focused()
    await page.keyboard.type(" Or not?")
    await page.keyboard.press("Control+Enter")
    await expect(page.get_by_text("You · edited")).to_be_visible()
    await assert_focus_visible(page)


@pytest.mark.slow  # test_card.py tests versions on a card, and the other tests of this file the keys
async def test_lesson_turn_regenerates_by_keyboard_and_assertions_use_selected_version(
    server: MootServer, page: Page
) -> None:
    id = await open_discussion(server, **LESSON_REQUEST | {"directed": {"turns": 1, "first_speaker": "Alpha"}})
    await page.goto(f"{server.url}/d/{id}")
    line = page.get_by_role("region", name="Messages").get_by_role("listitem").first
    await choose_menu_item(page, line, "Regenerate with another model")
    await expect(page.get_by_role("combobox", name="Model", exact=True)).to_be_focused()
    await page.keyboard.type("scripted stea")
    await expect(page.get_by_role("option", name="scripted/steady")).to_be_visible()
    await page.keyboard.press("Enter")
    await expect(line.get_by_text("2/2")).to_be_visible()
    await assert_focus_visible(page)
    await expect(line).to_contain_text("A table has no head")

    await move_focus_and_press(page, line.get_by_role("button", name="Earlier version"))
    await expect(line).not_to_contain_text("A table has no head")
    await choose_menu_item(page, line, "Check this answer")
    evaluation = page.get_by_role("dialog", name=re.compile("^Check .* answer"))
    await expect(evaluation.get_by_role("blockquote")).to_contain_text("A table has no head")


@pytest.mark.slow  # test_card.py, test_composer.py, test_share.py and test_shell.py test the focus after each action
async def test_discussion_is_stopped_rearranged_renamed_and_archived_by_keyboard(
    server: MootServer, page: Page
) -> None:
    await page.add_init_script(KEEP_TOASTS_JS)
    await page.goto(f"{server.url}/d/{await open_discussion(server, 'echo', 'steady')}")
    box = page.get_by_role("textbox", name="Your message")
    await move_focus_to(page, box)
    await assert_focus_visible(page)
    body = {"participants": [{"model": "scripted/unending", "name": name} for name in ("Long", "Longer")]}
    await server.call("PATCH", f"/api/discussions/{page.url.rsplit('/', 1)[1]}", body)
    long, longer = (page.get_by_role("article", name=name, exact=True) for name in ("Long", "Longer"))
    await page.keyboard.type("And why?")
    await page.keyboard.press("Enter")
    await expect(long).to_contain_text("table")
    await expect(box).to_be_focused()
    await move_focus_and_press(page, long.get_by_role("button", name="Stop Long"), by="Shift+Tab")
    await expect(long).to_contain_text("Stopped")
    await assert_focus_visible(page)
    await move_focus_and_press(page, page.get_by_role("button", name="Stop", exact=True))
    await expect(longer).to_contain_text("Stopped")
    await assert_focus_visible(page)
    await move_focus_to(page, box, "Shift+Tab")
    await page.keyboard.type("Once more")
    await page.keyboard.press("Enter")
    await expect(long.nth(1)).to_contain_text("table")
    await page.keyboard.press("Escape")
    await expect(long.nth(1)).to_contain_text("Stopped")
    await expect(box).to_be_focused()

    await move_focus_and_press(page, page.get_by_role("button", name="Tabs"), by="Shift+Tab")
    await expect(page.get_by_role("tab", name="Longer")).to_have_count(2)
    await assert_focus_visible(page)
    await move_focus_and_press(page, page.get_by_role("tab", name="Long", exact=True).last, "ArrowRight")
    await expect(longer).to_be_visible()
    await assert_focus_visible(page)
    await move_focus_and_press(page, page.get_by_role("button", name="One column"), by="Shift+Tab")
    await expect(page.get_by_role("tab")).to_have_count(0)
    await assert_focus_visible(page)

    await move_focus_and_press(page, page.get_by_role("button", name="Tables", exact=True), by="Shift+Tab")
    await expect(page.get_by_label("Title")).to_be_focused()
    await page.keyboard.press("Control+A")
    await page.keyboard.type("Round tables")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Round tables")).to_be_visible()
    await assert_focus_visible(page)
    await page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    await expect(keys).to_contain_text("Stop all participants")
    await page.keyboard.press("Escape")
    await expect(keys).to_have_count(0)
    await assert_focus_visible(page)

    await move_focus_and_press(page, page.get_by_role("button", name="Share"))
    await move_focus_and_press(page, page.get_by_role("menuitem", name="Archive"), by="ArrowUp")
    discussion_list = page.get_by_role("navigation", name="Discussions")
    await expect(discussion_list.get_by_role("link", name="Round tables")).to_have_count(0)
    await assert_focus_visible(page)
    await move_focus_and_press(page, page.get_by_role("button", name="Undo"), by="Shift+Tab")
    await expect(discussion_list.get_by_role("link", name="Round tables")).to_be_visible()
    await assert_focus_visible(page)


async def test_focus_moves_to_message_box_when_run_is_stopped_elsewhere(server: MootServer, page: Page) -> None:
    body = {"message": "Why a round table?", "title": "Tables", "participants": ["scripted/unending"]}
    begun = (await server.post("/api/discussions", body)).body
    await page.goto(f"{server.url}/d/{begun['discussion']['id']}")
    box = page.get_by_role("textbox", name="Your message")
    await expect(page.get_by_role("article")).to_contain_text("table")
    await box.focus()
    await move_focus_to(page, page.get_by_role("button", name="Stop", exact=True))
    await server.post(f"/api/runs/{begun['run']['id']}/stop")
    await expect(box).to_be_focused()


async def test_question_is_sent_and_prompt_inspected_by_keyboard(server: MootServer, page: Page) -> None:
    await page.goto(server.url)
    question = page.get_by_label("Your question")
    await expect(question).to_be_focused()
    await move_focus_to(page, page.get_by_role("button", name="Sample debate"))
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("radio", name="Debate")).to_be_checked()
    await move_focus_to(page, page.get_by_role("radio", name="Debate"))
    chosen = page.get_by_role("radio", name="Side by side")
    await move_focus_to(page, chosen, "ArrowUp")
    await expect(chosen).to_be_checked()
    await move_focus_to(page, question, "Shift+Tab")
    await page.keyboard.press("Control+A")
    await page.keyboard.type("Round?")
    await page.keyboard.press("Enter")
    await page.wait_for_url(re.compile(r"/d/dis_"))

    cards = page.get_by_role("article")
    await expect(cards).to_have_count(3)
    more = cards.first.get_by_role("button", name="More about this answer")
    await expect(more).to_be_attached()
    await move_focus_to(page, more)
    await expect(more).to_be_in_viewport()
    await page.keyboard.press("Enter")
    seen = page.get_by_role("menuitem", name="View prompt")
    await move_focus_to(page, seen, "ArrowDown")
    await assert_accessible(page, within=page.get_by_role("menu"))
    await page.keyboard.press("Enter")
    sheet = page.get_by_role("dialog", name=re.compile("^Prompt for "))
    await expect(sheet).to_contain_text("Round?")
    await page.keyboard.press("Escape")
    await expect(sheet).to_have_count(0)
    await expect(more).to_be_focused()

    await move_focus_to(page, page.get_by_role("textbox", name="Your message"))
    await page.keyboard.type("And why?")
    await page.keyboard.press("Enter")
    await expect(cards).to_have_count(6)
