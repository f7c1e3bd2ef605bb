"""Reading a discussion: what one reads stays in its place, and there is always a way to the newest."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Locator, Page, Route, expect

from tests.page.animation_frames import stable_text, wait_frames
from tests.page.discussions import wait_until_idle
from tests.page.page_errors import PageErrors
from tests.page.timeouts import PAGE_TIMEOUT_SECONDS
from tests.support.moot_server import MootServer

TOLERANCE_PIXELS = 2.0  # pixels
RUN_COUNT = 8  # of three messages each: more than a page of them
PAGE_SIZE = 20  # messages, where the page asks for a hundred
FIRST_VISIBLE_JS = """(box) => {
    const { top, bottom } = box.getBoundingClientRect();
    const all = [...box.querySelectorAll(".asked, article, .markdown p")];
    return all.find((one) => {
        const at = one.getBoundingClientRect();
        return at.height > 0 && at.top > top + 10 && at.top < bottom;
    });
}"""
# Note where it stands before each frame in which something grew is painted, so that not even a flicker is missed.
RECORD_POSITION_JS = """(one) => {
    const note = () => window.tops.push(one.getBoundingClientRect().top);
    window.tops = [];
    window.watch?.disconnect();
    window.watch = new ResizeObserver(note);
    window.watch.observe(one.closest("[aria-label='Messages']").firstElementChild);
    note();
}"""
# Measured after a frame was painted: what has just come is put into its place before the frame, but after the script.
PAINTED_TOP_JS = """(one) => new Promise((done) =>
    requestAnimationFrame(() => setTimeout(() => done(one.getBoundingClientRect().top))))"""
HAS_GROWN_JS = "([box, height, by]) => box.scrollHeight > height + by"


async def open_answered_discussion(server: MootServer, title: str) -> str:
    """Create a discussion with one answered question, and return its id."""
    body = {"message": f"Why {title}?", "title": title, "participants": ["scripted/brief"]}
    reply = await server.post("/api/discussions", body)
    assert reply.status == 201, reply
    await server.run_events(reply.body["run"]["id"])
    return str(reply.body["discussion"]["id"])


async def create_long_discussion(server: MootServer, runs: int, mode: str = "parallel") -> tuple[str, str]:
    """Create a long discussion whose last run is endless; return the discussion and that run."""
    table = {"participants": [f"scripted/{name}" for name in ("brief", "brief")], "rounds": 1}
    body = {"message": "Why a round table?", "title": "Tables", "mode": mode, **table}
    reply = await server.post("/api/discussions", body)
    assert reply.status == 201, reply
    id = str(reply.body["discussion"]["id"])
    await server.run_events(reply.body["run"]["id"])
    for count in range(runs - 1):
        sent = await server.post(f"/api/discussions/{id}/messages", {"message": f"And why {count}?"})
        await server.run_events(sent.body["run"]["id"])
    people = [{"id": one, "name": one, "model": "scripted/talker"} for one in ("alpha", "beta")]
    await server.call("PATCH", f"/api/discussions/{id}", {"participants": people})
    sent = await server.post(f"/api/discussions/{id}/messages", {"message": "And now?"})
    assert sent.status == 202, sent
    return id, str(sent.body["run"]["id"])


@asynccontextmanager
async def assert_position_stable(page: Page) -> AsyncIterator[None]:
    """Look at the first words in view; they stand still in every frame until the block ends."""
    words = await message_region(page).evaluate_handle(FIRST_VISIBLE_JS)
    await words.evaluate(RECORD_POSITION_JS)
    yield
    last = await words.evaluate(PAINTED_TOP_JS)
    tops = [*await page.evaluate("window.tops"), last]
    assert max(tops) - min(tops) < TOLERANCE_PIXELS, tops


def message_region(page: Page) -> Locator:
    return page.get_by_role("region", name="Messages")


@asynccontextmanager
async def wait_for_growth(page: Page, by: int) -> AsyncIterator[None]:
    """Wait at the end of the block until more is shown than at its beginning, by so many pixels."""
    height = await message_region(page).evaluate("(box) => box.scrollHeight")
    yield
    await page.wait_for_function(HAS_GROWN_JS, arg=[await message_region(page).element_handle(), height, by])


async def wait_for_more_text(page: Page) -> None:
    async with wait_for_growth(page, 600):
        pass


async def scroll(page: Page, by: float) -> None:
    """Turn the wheel over the messages, and wait until scrolling has stopped."""
    await message_region(page).hover()
    await message_region(page).evaluate(
        "(box) => { window.rested = false; box.onscrollend = () => (window.rested = true); }"
    )
    await page.mouse.wheel(0, by)
    if by:
        await page.wait_for_function("() => window.rested")


async def test_scroll_position_is_stable_while_older_messages_load_and_text_streams(
    server: MootServer, page: Page
) -> None:
    id, run = await create_long_discussion(server, RUN_COUNT)
    asked, free = asyncio.Event(), asyncio.Event()

    async def shorten_pages(route: Route) -> None:
        if "before=" in route.request.url:
            asked.set()
            await free.wait()
        await route.continue_(url=route.request.url.replace("limit=100", f"limit={PAGE_SIZE}"))

    await page.route("**/api/discussions/*limit=100*", shorten_pages)
    await page.goto(f"{server.url}/d/{id}")
    await expect(page.get_by_role("article").last).to_contain_text("nobody has to stand up")
    async with asyncio.timeout(PAGE_TIMEOUT_SECONDS):
        while not asked.is_set():
            await scroll(page, -await message_region(page).evaluate("(box) => box.scrollTop"))
    known = await page.get_by_role("article").count()

    async with (
        assert_position_stable(page),
        wait_for_growth(page, 1),
    ):  # what is out of sight is painted when it is over
        await server.post(f"/api/runs/{run}/stop")
    async with assert_position_stable(page):
        free.set()
        await expect(page.get_by_text("Why a round table?")).to_have_count(1)
    assert await page.get_by_role("article").count() > known


async def test_newest_button_appears_when_scrolled_away_and_position_is_stable(server: MootServer, page: Page) -> None:
    id, run = await create_long_discussion(server, 4)
    await page.goto(f"{server.url}/d/{id}")
    newest = page.get_by_role("button", name="Newest")
    await expect(page.get_by_role("article").last).to_contain_text("nobody has to stand up")
    await wait_for_more_text(page)
    await expect(newest).to_have_count(0)

    await scroll(page, 300)
    await expect(newest).to_be_visible()
    async with assert_position_stable(page):
        await wait_for_more_text(page)
    await scroll(page, -500)
    async with assert_position_stable(page):
        await wait_for_more_text(page)
    await newest.click()
    await expect(newest).to_have_count(0)
    await expect(page.get_by_text("And now?")).to_be_in_viewport()

    await server.post(f"/api/runs/{run}/stop")
    await server.run_events(run)
    await wait_until_idle(page)
    await stable_text(message_region(page))  # all of it is painted
    await scroll(page, 300)
    await newest.click()
    await expect(newest).to_have_count(0)
    await expect(page.get_by_role("article").last.get_by_role("button", name="Copy")).to_be_in_viewport()


async def test_auto_scroll_follows_rounds_stops_on_scroll_up_and_resumes(server: MootServer, page: Page) -> None:
    id, _ = await create_long_discussion(server, 3, mode="consensus")
    await page.goto(f"{server.url}/d/{id}")
    newest = page.get_by_role("button", name="Newest")
    await wait_for_more_text(page)
    await expect(page.get_by_role("button", name="Stop here")).to_be_in_viewport()
    await expect(newest).to_have_count(0)

    await scroll(page, -700)
    await expect(newest).to_be_visible()
    async with assert_position_stable(page):
        await wait_for_more_text(page)
    await newest.click()
    await expect(newest).to_have_count(0)
    await wait_for_more_text(page)
    await expect(page.get_by_role("button", name="Stop here")).to_be_in_viewport()


async def hide_older_messages(page: Page, id: str) -> asyncio.Queue[Route]:
    """Show a discussion as if there were older messages, and return who asks for them."""
    asked = asyncio.Queue[Route]()

    async def answer(route: Route) -> None:
        if "before=" in route.request.url:
            asked.put_nowait(route)
        else:
            await route.fulfill(json=await (await route.fetch()).json() | {"before": 1})

    await page.route(f"**/api/discussions/{id}?*", answer)
    return asked


async def test_earlier_messages_button_shows_error_and_keeps_focus_when_load_fails(
    server: MootServer, page: Page, page_errors: PageErrors
) -> None:
    page_errors.allow("503")
    id = await open_answered_discussion(server, "Tables")
    earlier = page.get_by_role("button", name="Show earlier messages")
    asked = await hide_older_messages(page, id)
    await page.goto(f"{server.url}/d/{id}")
    await earlier.press("Enter")
    await expect(earlier).to_have_attribute("aria-disabled", "true")
    await wait_frames(page, 3)
    await expect(earlier).to_be_focused()
    await (await asked.get()).fulfill(status=503, json={"title": "No", "status": 503, "detail": "Come back later."})
    await expect(page.get_by_text("Come back later.")).to_be_visible()
    await expect(earlier).to_be_focused()


async def test_search_for_linked_message_ends_when_another_discussion_opens(server: MootServer, page: Page) -> None:
    id = await open_answered_discussion(server, "Tables")
    await open_answered_discussion(server, "Chairs")
    asked = await hide_older_messages(page, id)
    await page.goto(f"{server.url}/d/{id}#msg_none")
    older = await asked.get()
    await page.get_by_role("link", name="Chairs").click()
    await expect(page.get_by_role("heading", name="Chairs")).to_be_visible()
    await older.fulfill(json=await (await older.fetch()).json() | {"messages": [], "before": None})
    await wait_frames(page, 120)
    assert await page.get_by_text("is no longer in this discussion").count() == 0  # it would go by itself
