"""A reload, a lost network, a killed server: the page continues without gaps and without repeated text."""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from playwright.async_api import Locator, Page, Route, expect

from tests.page.animation_frames import wait_frames
from tests.page.axe import assert_accessible
from tests.page.dedicated_server import run_server_for_page
from tests.page.discussions import open_titled_discussion
from tests.page.page_errors import PageErrors
from tests.page.scripted_models import LONG_ANSWER
from tests.page.timeouts import PAGE_TIMEOUT_SECONDS
from tests.support.moot_server import MootServer

POLL_MILLISECONDS = 30
WAITING_TEXT = "Waiting for the connection"
OFFLINE_TEXT = "No connection. Your text is kept; send it when you are back online."
COUNT_ANIMATIONS_JS = """() => [...document.querySelectorAll('*')]
  .filter((one) => one.checkVisibility() && getComputedStyle(one).animationName === 'breathe').length"""
RECORD_ANNOUNCEMENTS_JS = """() => {
  window.announced = [];
  const status = document.querySelector('#page > [role=status]');
  new MutationObserver(() => announced.push(status.textContent))
    .observe(status, { childList: true, characterData: true, subtree: true });
}"""
CARD_TEXTS_JS = "(cards) => cards.map((card) => card.querySelector('.markdown')?.innerText ?? '')"


async def open_speaking_discussion(server: MootServer, page: Page) -> str:
    """Start a discussion of two that stream for seconds, show it on the page, and wait for the first text."""
    body = {"message": "Why?", "title": "Long", "participants": ["scripted/lasting", "scripted/lasting"]}
    await page.goto(server.url)
    await expect(discussion_list(page)).to_contain_text("Connected")
    reply = await server.post("/api/discussions", body)
    await discussion_list(page).get_by_role("link", name="Long").click()
    for place in (0, 1):
        await expect(page.get_by_role("article").nth(place)).to_contain_text("A table has")
    return str(reply.body["run"]["id"])


def discussion_list(page: Page) -> Locator:
    return page.get_by_role("navigation", name="Discussions")


async def kill_server(server: MootServer, page: Page) -> None:
    """Kill the server, so that it can start again at the same address, and wait until the page shows that."""
    await expect(discussion_list(page)).to_contain_text("Connected")
    server.arguments[server.arguments.index("--port") + 1] = str(urlsplit(server.url).port)
    server.kill()
    await expect(discussion_list(page)).to_contain_text("No connection")


async def rename_discussion(server: MootServer, id: str, title: str) -> None:
    reply = await server.call("PATCH", f"/api/discussions/{id}", {"title": title})
    assert reply.status == 200, reply


async def count_animations(page: Page) -> int:
    """Count the animations of live answers."""
    return int(await page.evaluate(COUNT_ANIMATIONS_JS))


async def card_texts(page: Page) -> list[str]:
    """Return the text of each card. A card that has just started, or started again, is empty."""
    return list(await page.get_by_role("article").evaluate_all(CARD_TEXTS_JS))


async def wait_for_complete_answers(page: Page, before: Sequence[str] = ("", ""), *, restarted: bool = False) -> None:
    """Watch both answers to their ends: the text on the page is always a prefix of the answer, and only grows.

    An answer that a crash interrupted starts again, and may be shorter then.
    """
    shown: Sequence[str] = before
    async with asyncio.timeout(PAGE_TIMEOUT_SECONDS):
        while list(shown) != [LONG_ANSWER, LONG_ANSWER]:
            now = await card_texts(page)
            assert len(now) == len(shown), "a card was lost or came twice"
            for earlier, later in zip(shown, now, strict=True):
                assert LONG_ANSWER.startswith(later.strip())
                assert restarted or len(later) >= len(earlier), "words were lost"
            shown = now
            await page.wait_for_timeout(POLL_MILLISECONDS)
    await expect(page.get_by_role("article")).to_have_count(2)


async def test_reload_during_run_loses_no_text(server: MootServer, page: Page) -> None:
    await open_speaking_discussion(server, page)
    announcement = page.get_by_role("main").get_by_role("status")
    await expect(announcement).to_have_text("Alpha and Beta are speaking.")
    before = await card_texts(page)
    await page.reload()
    for place, text in enumerate(before):
        await expect(page.get_by_role("article").nth(place)).to_contain_text(text)
    await wait_for_complete_answers(page, before)
    await expect(announcement).to_have_text("2 answers are ready.")


async def test_lost_network_is_shown_and_stream_catches_up_after_reconnect(
    server: MootServer, page: Page, page_errors: PageErrors
) -> None:
    page_errors.allow("ERR_INTERNET_DISCONNECTED|Failed to fetch")
    await open_speaking_discussion(server, page)
    await expect(discussion_list(page)).to_contain_text("Connected")
    await page.context.set_offline(True)
    await expect(discussion_list(page)).to_contain_text("No connection")
    before = await card_texts(page)
    await page.context.set_offline(False)
    await wait_for_complete_answers(page, before)
    await expect(discussion_list(page)).to_contain_text("Connected")


async def test_page_in_back_forward_cache_closes_its_connection(server: MootServer, page: Page) -> None:
    """Browsers allow six connections to a server. Playwright does not freeze pages, so the test sends both events."""
    await page.goto(server.url)
    for name, words in (("pagehide", "No connection"), ("pageshow", "Connected")):
        await expect(discussion_list(page)).to_contain_text("No connection" if name == "pageshow" else "Connected")
        await page.evaluate("(name) => dispatchEvent(new PageTransitionEvent(name, { persisted: true }))", name)
        await expect(discussion_list(page)).to_contain_text(words)


async def test_page_resumes_run_after_server_is_killed_and_restarted(
    page: Page, page_errors: PageErrors, tmp_path: Path
) -> None:
    page_errors.allow(
        "ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|Failed to fetch"
    )
    async with run_server_for_page(page, tmp_path) as server:
        await open_speaking_discussion(server, page)
        await kill_server(server, page)
        for place in (0, 1):
            await expect(page.get_by_role("article").nth(place)).to_contain_text(WAITING_TEXT)
        await server.start()
        await expect(discussion_list(page)).to_contain_text("Connected")
        await expect(page.get_by_text("was interrupted and resumed")).to_be_visible()
        await wait_for_complete_answers(page, restarted=True)


async def test_message_written_offline_is_kept_and_sent_after_reconnect(
    server: MootServer, page: Page, page_errors: PageErrors
) -> None:
    page_errors.allow("ERR_|Failed to fetch")
    id = await open_titled_discussion(server, "Tables")
    await page.goto(f"{server.url}/d/{id}")
    box = page.get_by_role("textbox", name="Your message")
    send = page.get_by_role("button", name="Send", exact=True)
    price = page.get_by_title("Price estimate and limit")
    await box.fill("And")
    await expect(price).to_contain_text("1 call")
    await page.route("**/api/estimate", lambda route: route.abort(), times=1)
    async with page.expect_event("requestfailed", lambda request: "/estimate" in request.url):
        await page.reload()
    await expect(box).to_have_value("And")
    await expect(price).to_have_text("Price")

    await page.context.set_offline(True)
    await expect(discussion_list(page)).to_contain_text("No connection")
    await box.fill("And now?")
    await box.press("Enter")
    await expect(send).to_be_disabled()
    await expect(send).to_have_attribute("title", OFFLINE_TEXT)
    await expect(page.get_by_role("form").get_by_text(OFFLINE_TEXT)).to_be_visible()
    await expect(box).to_have_value("And now?")

    await page.context.set_offline(False)
    await expect(price).to_contain_text("1 call")
    await expect(send).to_be_enabled()
    await box.press("Enter")
    await expect(page.get_by_role("article")).to_have_count(2)
    await expect(page.get_by_role("region", name="Messages")).to_contain_text("And now?")
    await expect(box).to_have_value("")


async def test_offline_page_shows_no_activity_and_no_layout_shift(
    server: MootServer, page: Page, page_errors: PageErrors
) -> None:
    page_errors.allow("ERR_INTERNET_DISCONNECTED|Failed to fetch")
    body = {"message": "Why?", "title": "Slow", "participants": ["scripted/silent", "scripted/silent"]}
    reply = await server.post("/api/discussions", body)
    await page.goto(f"{server.url}/d/{reply.body['discussion']['id']}")
    cards = page.get_by_role("article")
    spoken = page.get_by_role("main").locator("p[role=status]")
    await expect(discussion_list(page)).to_contain_text("Connected")
    await expect(cards).to_have_count(2)
    await expect(spoken).to_have_text("Alpha and Beta are speaking.")
    await expect(discussion_list(page).get_by_label("is generating")).to_be_visible()
    assert await count_animations(page) == 2  # the cards without text
    still = [
        discussion_list(page).get_by_role("link", name="New discussion"),
        discussion_list(page).get_by_label("Search discussions"),
        discussion_list(page).get_by_role("link", name="Slow"),
        cards.first,
        cards.first.get_by_text("Waiting for the first word"),
        cards.first.get_by_role("button", name="Stop Alpha"),
        page.get_by_role("button", name="Stop", exact=True),
        page.get_by_role("textbox", name="Your message"),
    ]
    before = [await one.bounding_box() for one in still]
    failed: list[str] = []
    page.on("requestfailed", lambda request: failed.append(request.url))
    await page.evaluate(RECORD_ANNOUNCEMENTS_JS)

    await page.context.set_offline(True)
    await expect(discussion_list(page)).to_contain_text("No connection")
    for place in (0, 1):
        await expect(cards.nth(place)).to_contain_text(WAITING_TEXT)
    for stop in (still[5], still[6]):
        await expect(stop).to_be_disabled()
        await expect(stop).to_have_attribute("title", "Offline: cannot stop")
    await expect(spoken).to_have_text("")
    await expect(discussion_list(page).get_by_label("was generating")).to_be_visible()
    assert await count_animations(page) == 0
    assert [await one.bounding_box() for one in still] == before
    await assert_accessible(page)
    async with asyncio.timeout(PAGE_TIMEOUT_SECONDS):
        while len(failed) < 3:
            await page.wait_for_timeout(POLL_MILLISECONDS)
    assert await page.evaluate("announced") == ["No connection. Reconnecting; nothing is lost."]

    await page.context.set_offline(False)
    await expect(spoken).to_have_text("Alpha and Beta are speaking.")
    assert await count_animations(page) == 2  # the cards without text
    assert (await page.evaluate("announced"))[1:] == ["Connected again."]
    await expect(cards.first).not_to_contain_text(WAITING_TEXT)
    await still[6].click()
    await expect(cards.first).to_contain_text("Stopped")


async def test_change_during_stream_reconnect_is_not_missed(server: MootServer, page: Page) -> None:
    ids = [await open_titled_discussion(server, title, participants=["scripted/echo"]) for title in ("One", "Other")]
    await page.goto(server.url)
    await expect(discussion_list(page)).to_contain_text("Connected")
    listening = asyncio.Event()

    async def delay_stream(route: Route) -> None:
        await listening.wait()
        await route.continue_()

    await page.route("**/api/events?discussion=*", delay_stream)
    async with page.expect_request("**/api/events?discussion=*"):
        await discussion_list(page).get_by_role("link", name="Other").click()
    await rename_discussion(server, ids[0], "Changed while disconnected")
    listening.set()
    await expect(discussion_list(page).get_by_role("link", name="Changed while disconnected")).to_be_visible()


async def test_event_received_before_discussion_is_loaded_is_applied(server: MootServer, page: Page) -> None:
    id, other = [
        await open_titled_discussion(server, title, participants=["scripted/echo"]) for title in ("Before", "Other")
    ]
    await page.goto(server.url)
    await expect(discussion_list(page).get_by_role("link", name="Other")).to_be_visible()
    reads: list[Route] = []
    lists: list[Route] = []

    async def answer_stale(route: Route) -> None:
        reads.append(route)
        if len(reads) > 1:
            return  # what is read later would have it anyway, and is never answered
        snapshot = await route.fetch()
        async with asyncio.timeout(PAGE_TIMEOUT_SECONDS):
            while not await discussion_list(page).get_by_role("link", name="Received").is_visible():
                await rename_discussion(server, other, "Received")  # until the new connection listens
                await page.wait_for_timeout(POLL_MILLISECONDS)
        await rename_discussion(server, id, "After")
        await expect(discussion_list(page).get_by_role("link", name="After")).to_be_visible()
        await route.fulfill(response=snapshot)

    def leave_unanswered(route: Route) -> None:
        lists.append(route)  # so what the list shows later came as an event

    await page.route(re.compile(r"/api/discussions(\?|$)"), leave_unanswered)
    await page.route(f"**/api/discussions/{id}?limit=*", answer_stale)
    await discussion_list(page).get_by_role("link", name="Before").click()
    await expect(page.get_by_role("main").get_by_role("heading", name="After")).to_be_visible()
    for route in (*reads[1:], *lists):
        await route.continue_()


async def test_stale_discussion_response_does_not_overwrite_newer_edit(server: MootServer, page: Page) -> None:
    id = await open_titled_discussion(server, "Before", participants=["scripted/echo"])
    await page.goto(f"{server.url}/d/{id}")
    answer = page.get_by_role("article")
    await expect(answer).to_contain_text("Before")
    fetched, edited = asyncio.Event(), asyncio.Event()

    async def answer_stale(route: Route) -> None:
        snapshot = await route.fetch()
        fetched.set()
        await edited.wait()
        await route.fulfill(response=snapshot)

    reads = f"**/api/discussions/{id}?limit=*"
    await page.route(reads, answer_stale, times=1)
    await rename_discussion(server, id, "After")
    await fetched.wait()
    await answer.hover()
    await answer.get_by_role("button", name="More about this answer").click()
    await page.get_by_role("menuitem", name="Edit").click()
    await answer.get_by_label("Text").fill("Something else.")
    async with page.expect_response(reads):  # what the change itself makes the page read
        await page.keyboard.press("Control+Enter")
    await expect(answer).to_contain_text("2/2")
    async with page.expect_response(reads):
        edited.set()
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    await expect(answer).to_contain_text("Something else.")


async def test_stale_list_response_does_not_overwrite_newer_title(server: MootServer, page: Page) -> None:
    id = await open_titled_discussion(server, "Before", participants=["scripted/echo"])
    await page.goto(server.url)
    await expect(discussion_list(page).get_by_role("link", name="Before")).to_be_visible()

    answered = asyncio.Event()

    async def answer_stale(route: Route) -> None:
        snapshot = await (await route.fetch()).json()
        await rename_discussion(server, id, "After")
        await expect(discussion_list(page).get_by_role("link", name="After")).to_be_visible()
        await route.fulfill(json=snapshot)
        answered.set()

    await page.route("**/api/discussions?q=*", answer_stale, times=1)
    await discussion_list(page).get_by_label("Search discussions").fill("Before")
    await asyncio.wait_for(answered.wait(), 60)
    await expect(discussion_list(page).get_by_role("heading", name="Results")).to_be_visible()
    await expect(discussion_list(page).get_by_role("link", name="After")).to_be_visible()


async def test_late_response_of_cleared_search_is_ignored(server: MootServer, page: Page) -> None:
    await open_titled_discussion(server, "Tables", participants=["scripted/echo"])
    await page.goto(server.url)
    await expect(discussion_list(page).get_by_role("link", name="Tables")).to_be_visible()
    searches = asyncio.Queue[Route]()
    await page.route("**/api/discussions?q=*", searches.put_nowait)
    search = discussion_list(page).get_by_label("Search discussions")
    await search.fill("Tables")
    late = await searches.get()
    async with page.expect_response("**/api/discussions?status=*"):
        await search.fill("")
    async with page.expect_response("**/api/discussions?q=*") as found:
        await late.continue_()
    await (await found.value).finished()
    await wait_frames(page, 30)
    await expect(discussion_list(page).get_by_text("Results, archive included")).to_have_count(0)


async def test_next_list_page_loads_before_list_is_refreshed(server: MootServer, page: Page) -> None:
    id = await open_titled_discussion(server, "Newer", participants=["scripted/echo"])
    asked, free = asyncio.Event(), asyncio.Event()
    reads: list[str] = []

    async def answer_list(route: Route) -> None:
        first = await (await route.fetch(url=f"{server.url}/api/discussions?status=active")).json()
        if "cursor=" not in route.request.url:
            await route.fulfill(json=first | {"next": "there is more"})
            return
        asked.set()
        await free.wait()
        older = first["discussions"][0] | {"id": "dis_older", "title": "Older", "updated_at": 1}
        await route.fulfill(json={"discussions": [older], "next": None, "hits": []})

    await page.route("**/api/discussions?status=*", answer_list)
    page.on("request", lambda request: reads.append(request.url))
    await page.goto(server.url)
    await expect(discussion_list(page)).to_contain_text("Connected")
    await discussion_list(page).get_by_role("button", name="Show more").click()
    await asked.wait()
    await discussion_list(page).get_by_role("link", name="Newer").click()
    async with asyncio.timeout(PAGE_TIMEOUT_SECONDS):
        while sum(f"/api/discussions/{id}?" in url for url in reads) < 2:  # after the reconnect it reads again
            await page.wait_for_timeout(POLL_MILLISECONDS)
    async with page.expect_response(lambda response: response.url.endswith("?status=active")):
        free.set()
    await expect(discussion_list(page).get_by_role("link", name="Older")).to_be_visible()


async def test_search_results_stay_while_a_found_discussion_changes(
    server: MootServer, page: Page, page_errors: PageErrors
) -> None:
    await open_titled_discussion(server, "Chairs")
    id = await open_titled_discussion(server, "Tables")
    await page.goto(server.url)
    await discussion_list(page).get_by_label("Search discussions").fill("Tables")
    await expect(discussion_list(page).get_by_role("link", name="Chairs")).to_have_count(0)
    await expect(discussion_list(page).get_by_role("link", name="Tables")).to_be_visible()
    await server.call("PATCH", f"/api/discussions/{id}", {"participants": [{"model": "scripted/silent"}]})
    reply = await server.post(f"/api/discussions/{id}/messages", {"message": "Once more?"})
    assert reply.status < 300, reply
    await expect(discussion_list(page).get_by_label("is generating")).to_be_visible()
    await rename_discussion(server, id, "Round ones")
    await expect(discussion_list(page).get_by_role("link", name="Round ones")).to_be_visible()
    await expect(discussion_list(page).get_by_label("is generating")).to_be_visible()
    await expect(discussion_list(page).get_by_role("link", name="Chairs")).to_have_count(0)
