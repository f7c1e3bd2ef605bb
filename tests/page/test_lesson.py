"""A lesson beside its whiteboard: live, after a reload, moment by moment, and on a phone."""

import re
from typing import Any

from playwright.async_api import Page, Request, Route, expect

from tests.page.axe import assert_accessible
from tests.page.discussions import open_discussion, wait_until_idle
from tests.page.page_errors import PageErrors
from tests.support.moot_server import MootServer

LESSON_REQUEST: dict[str, Any] = {
    "message": "Why do the odd numbers add up to squares?",
    "title": "Odd numbers",
    "mode": "directed",
    "participants": [
        {"model": "scripted/teacher", "role": "teacher"},
        {"model": "scripted/assistant", "role": "assistant"},
        {"model": "scripted/student", "role": "student"},
        {"model": "scripted/classmate", "role": "student"},
    ],
    "directed": {"turns": 10, "first_speaker": "Alpha", "topic": "Sums of odd numbers"},
}
COMPLETE_BOARD = re.compile(
    "shows text “Odd numbers and squares”; the formula .*; python code.*; a column chart of .*; an arrow"
)


class BoardRequests:
    """Records which whiteboards the page requested, and how many at most at the same time."""

    def __init__(self, page: Page) -> None:
        self.urls: list[str] = []
        self.max_concurrent = self._open_requests = 0
        page.on("request", self._on_request)
        page.on("requestfinished", self._on_finish)
        page.on("requestfailed", self._on_finish)  # a reload takes it away

    def _on_request(self, request: Request) -> None:
        if "whiteboard.svg" in request.url:
            self.urls.append(request.url)
            self._open_requests += 1
            self.max_concurrent = max(self.max_concurrent, self._open_requests)

    def _on_finish(self, request: Request) -> None:
        self._open_requests -= "whiteboard.svg" in request.url


async def test_lesson_is_shown_live_after_reload_and_in_playback(server: MootServer, page: Page) -> None:
    id = await open_discussion(server, **LESSON_REQUEST, wait=False)
    fetched = BoardRequests(page)
    await page.goto(f"{server.url}/d/{id}")
    board = page.get_by_role("complementary", name="Whiteboard")
    messages = page.get_by_role("region", name="Messages")

    await expect(messages.get_by_text("It is your turn.")).to_be_visible()
    await expect(messages).to_contain_text("Is the next edge clear to you, too?")
    await expect(messages.get_by_role("listitem").nth(1)).to_contain_text("A listener should say what is not clear.")
    await expect(messages.get_by_text("Left out: spotlight is for teachers.")).to_be_visible()
    await expect(messages.get_by_role("button", name="writes a formula")).to_be_visible()
    await expect(board.get_by_role("img")).to_have_attribute("alt", COMPLETE_BOARD)
    await expect(board.get_by_role("button", name="Live")).to_have_count(0)
    await assert_accessible(page)

    await page.reload()
    moment = board.get_by_role("slider", name="Moment")
    await expect(messages.get_by_role("button", name="changes the code")).to_be_visible()
    await expect(messages.get_by_text("Left out: spotlight is for teachers.")).to_be_visible()
    await expect(messages.get_by_text("It is your turn.")).to_be_visible()
    await expect(board.get_by_role("img")).to_have_attribute("alt", COMPLETE_BOARD)

    await moment.press("Home")
    await expect(moment).to_have_attribute("aria-valuetext", re.compile("1 of 17. Alpha opens the whiteboard"))
    await expect(board).to_contain_text("Nothing is drawn yet.")
    for _ in range(3):
        await moment.press("ArrowRight")
    await expect(board.get_by_role("img")).to_have_attribute("alt", re.compile("n\\^2.$"))
    await expect(board.get_by_role("img")).to_have_attribute("src", re.compile(r"seq=\d+$"))
    await expect(messages.locator("[aria-current=step]")).to_have_text("writes a formula")

    await page.locator("#main").focus()
    await page.keyboard.press("]")
    await expect(messages.locator("mark")).to_have_text("Could that be more than luck?")
    await messages.get_by_role("button", name="draws a rectangle").click()
    await expect(moment).to_have_attribute("aria-valuetext", re.compile("Alpha draws a rectangle"))
    await expect(board.get_by_role("img")).to_have_attribute("alt", re.compile("a rectangle.$"))
    async with page.expect_download() as saved:
        await board.get_by_role("link", name="Download the whiteboard").click()
    assert (await saved.value).suggested_filename == "Odd numbers.png"

    await moment.press("Home")
    await board.get_by_role("button", name="Play").click()
    await expect(moment).not_to_have_attribute("aria-valuetext", re.compile("^1 of 17"))
    await board.get_by_role("button", name="Pause").click()
    await board.get_by_role("button", name="End").click()
    await expect(board.get_by_role("img")).to_have_attribute("alt", COMPLETE_BOARD)
    await page.emulate_media(color_scheme="dark")
    await expect(board.get_by_role("img")).to_have_attribute("src", re.compile("dark=true"))
    download = board.get_by_role("link", name="Download the whiteboard")
    await expect(download).not_to_have_attribute("href", re.compile("dark"))
    assert fetched.max_concurrent == 1, fetched.urls


async def test_follow_up_message_continues_on_the_same_whiteboard(server: MootServer, page: Page) -> None:
    id = await open_discussion(server, **LESSON_REQUEST | {"directed": {"turns": 2, "first_speaker": "Alpha"}})
    await page.set_viewport_size({"width": 390, "height": 844})
    await page.goto(f"{server.url}/d/{id}")
    board = page.get_by_role("complementary", name="Whiteboard")
    moment = board.get_by_role("slider", name="Moment")
    await expect(moment).to_have_attribute("max", "5")
    await expect(page.get_by_text("The lesson is over. All 2 turns were taken.")).to_be_visible()
    await page.get_by_role("textbox", name="Your message").fill("Beta, can it be tried out?")
    await page.keyboard.press("Enter")
    await expect(board.get_by_role("img")).to_have_attribute("alt", re.compile("Odd numbers.*python code"))
    await expect(page.get_by_text("The lesson is over.")).to_have_count(2)
    await expect(board.get_by_role("img")).to_be_in_viewport(ratio=1)
    assert int(await moment.get_attribute("max") or 0) > 6
    await moment.press("Home")
    await expect(board).to_contain_text("Nothing is drawn yet.")
    await expect(page.get_by_role("button", name="opens the whiteboard")).to_be_in_viewport()
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390

    await moment.press("End")
    await board.get_by_role("button", name="Enlarge the whiteboard").click()
    large = page.get_by_role("dialog", name="Whiteboard")
    drawing = large.get_by_role("img")
    await expect(drawing).to_have_attribute("alt", re.compile("python code"))
    assert await drawing.evaluate("(image) => image.clientWidth") > 900
    around = large.get_by_role("group", name="Whiteboard")
    await around.evaluate("(content) => content.scrollTo({ left: 400 })")
    assert await around.evaluate("(content) => content.scrollLeft") == 400
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390
    await assert_accessible(page, within=large)
    await large.get_by_role("button", name="Close").click()
    await expect(large).to_have_count(0)


async def test_lesson_turn_regenerates_and_versions_switch_the_whiteboard(server: MootServer, page: Page) -> None:
    id = await open_discussion(server, **LESSON_REQUEST | {"directed": {"turns": 1, "first_speaker": "Alpha"}})
    await page.goto(f"{server.url}/d/{id}")
    board = page.get_by_role("complementary", name="Whiteboard")
    line = page.get_by_role("region", name="Messages").get_by_role("listitem").first
    await expect(line).to_contain_text("scripted")
    await expect(board.get_by_role("img")).to_have_attribute("alt", re.compile("Odd numbers"))
    await line.get_by_role("button", name="More about this answer").click()
    await page.get_by_role("menuitem", name="Regenerate", exact=True).click()
    versions = line.get_by_role("group", name="Versions of this answer")
    await expect(versions).to_contain_text("2/2")
    await expect(line).to_contain_text("Could that be more than luck?")
    await expect(board.get_by_role("img")).to_have_attribute("alt", re.compile("regenerated"))
    await wait_until_idle(page)
    await page.reload()
    await expect(board.get_by_role("img")).to_have_attribute("alt", re.compile("regenerated"))
    await versions.get_by_role("button", name="Earlier version").click()
    await expect(versions).to_contain_text("1/2")
    await versions.get_by_role("button", name="Use this version").click()
    await expect(board.get_by_role("img")).to_have_attribute("alt", re.compile("Odd numbers"))
    await expect(line.get_by_role("button", name="writes a formula")).to_be_visible()


async def test_lesson_turn_shows_fallback_and_keeps_answer_when_regeneration_fails(
    server: MootServer, page: Page
) -> None:
    alone = {"participants": [{"model": "scripted/absent", "role": "teacher"}]}
    await page.goto(f"{server.url}/d/{await open_discussion(server, **LESSON_REQUEST | alone)}")
    line = page.get_by_role("region", name="Messages").get_by_role("listitem").first
    await expect(line).to_contain_text("scripted/teacher is asked instead of scripted/absent.")
    await expect(line).to_contain_text("Could that be more than luck?")
    await line.get_by_role("button", name="More about this answer").click()
    await page.get_by_role("menuitem", name="Regenerate with another model").click()
    picker = page.get_by_role("dialog", name="Change the model of Alpha")
    await picker.get_by_role("combobox", name="Model").fill("scripted/reset")
    await picker.get_by_role("button", name="Regenerate").click()
    await expect(line.get_by_role("alert")).to_contain_text("The earlier answer is kept.")
    await expect(line).to_contain_text("Could that be more than luck?")


async def test_failed_whiteboard_is_requested_once_and_again_on_retry(
    server: MootServer, page: Page, page_errors: PageErrors
) -> None:
    page_errors.allow("status of 500")
    id = await open_discussion(server, **LESSON_REQUEST | {"directed": {"turns": 2, "first_speaker": "Alpha"}})
    fetched = BoardRequests(page)
    await page.route("**/whiteboard.svg*", lambda route: route.fulfill(status=500))
    await page.goto(f"{server.url}/d/{id}")
    board = page.get_by_role("complementary", name="Whiteboard")
    await expect(board.get_by_role("slider", name="Moment")).to_have_attribute("max", "5")
    await expect(board.get_by_role("alert")).to_contain_text("The whiteboard could not be loaded.")
    await assert_accessible(page, within=board)
    assert len(fetched.urls) == len(set(fetched.urls)), fetched.urls
    await page.unroute("**/whiteboard.svg*")
    await board.get_by_role("button", name="Retry").click()
    await expect(board.get_by_role("img")).to_have_attribute("alt", re.compile("Odd numbers"))
    await expect(board.get_by_role("alert")).to_have_count(0)


async def test_lesson_load_error_does_not_carry_over_to_another_lesson(
    server: MootServer, page: Page, page_errors: PageErrors
) -> None:
    page_errors.allow("status of 500")
    short = LESSON_REQUEST | {"directed": {"turns": 1, "first_speaker": "Alpha"}}
    broken = await open_discussion(server, **short | {"title": "Broken"})
    await open_discussion(server, **short | {"title": "Whole"})
    run = (await server.get(f"/api/discussions/{broken}")).body["messages"][-1]["run"]

    async def answer_with_error(route: Route) -> None:
        await route.fulfill(status=500, json={"title": "Broken", "status": 500, "detail": "It broke."})

    await page.route(f"**/api/runs/{run}/events*", answer_with_error)
    await page.goto(f"{server.url}/d/{broken}")
    board = page.get_by_role("complementary", name="Whiteboard")
    await expect(board.get_by_role("alert")).to_contain_text("It broke.")
    await page.get_by_role("link", name="Whole").click()
    await expect(page.get_by_role("button", name="writes a formula")).to_be_visible()
    await expect(board.get_by_role("alert")).to_have_count(0)
