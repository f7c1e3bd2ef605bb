"""A reload, a lost network, a killed server: the page picks up where it was, without a gap and without a repeat."""

import asyncio
from collections.abc import Sequence
from urllib.parse import urlsplit

from playwright.async_api import Page, expect

from moot.providers.scripts import SAMPLE
from tests.page.watching import Watch
from tests.serving import MootServer

PATIENCE_SECONDS = 60
LOOK_MILLISECONDS = 30
WHOLE = " ".join([SAMPLE] * 4)  # what scripted/long says


async def speaking(server: MootServer, page: Page) -> str:
    """Open a discussion in which somebody speaks for seconds, and wait for the first words."""
    body = {"message": "Why?", "title": "Long", "participants": ["scripted/long", "scripted/long"]}
    reply = await server.post("/api/discussions", body)
    await page.goto(f"{server.url}/d/{reply.body['discussion']['id']}")
    for place in (0, 1):
        await expect(page.get_by_role("article").nth(place)).to_contain_text("A table has")
    return str(reply.body["run"]["id"])


async def texts(page: Page) -> list[str]:
    return await page.get_by_role("article").locator(".markdown").all_inner_texts()


async def complete(page: Page, before: Sequence[str] = ("", ""), *, begun_anew: bool = False) -> None:
    """Hear both to their ends: what is shown meanwhile is always the beginning of the whole, and only grows.

    An answer that a crash cut off is begun anew, and may be shorter then.
    """
    shown: Sequence[str] = before
    async with asyncio.timeout(PATIENCE_SECONDS):
        while list(shown) != [WHOLE, WHOLE]:
            now = await texts(page)
            assert len(now) == len(shown), "a card was lost or came twice"
            for earlier, later in zip(shown, now, strict=True):
                assert WHOLE.startswith(later.strip())
                assert begun_anew or len(later) >= len(earlier), "words were lost"
            shown = now
            await page.wait_for_timeout(LOOK_MILLISECONDS)
    await expect(page.get_by_role("article")).to_have_count(2)


async def test_a_reload_in_the_middle_loses_nothing(server: MootServer, page: Page) -> None:
    await speaking(server, page)
    said = page.get_by_role("main").get_by_role("status")
    await expect(said).to_have_text("Alpha and Beta are speaking.")
    before = await texts(page)
    await page.reload()
    for place, text in enumerate(before):
        await expect(page.get_by_role("article").nth(place)).to_contain_text(text)
    await complete(page, before)
    await expect(said).to_have_text("2 answers are there.")


async def test_a_lost_network_is_said_and_then_made_up_for(
    server: MootServer, page: Page, watch: Watch
) -> None:
    watch.allow("ERR_INTERNET_DISCONNECTED|Failed to fetch")
    await speaking(server, page)
    state = page.get_by_role("navigation").get_by_role("status")
    await expect(state).to_have_text("Connected")
    await page.context.set_offline(True)
    await expect(state).to_contain_text("No connection")
    before = await texts(page)
    await page.context.set_offline(False)
    await complete(page, before)
    await expect(state).to_have_text("Connected")


async def test_a_server_that_is_killed_and_started_again_goes_on_on_the_same_page(
    server: MootServer, page: Page, watch: Watch
) -> None:
    watch.allow(
        "ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE"
    )
    await speaking(server, page)
    server.command[server.command.index("--port") + 1] = str(urlsplit(server.url).port)
    server.kill()
    state = page.get_by_role("navigation").get_by_role("status")
    await expect(state).to_contain_text("No connection")
    await server.start()
    await expect(state).to_have_text("Connected")
    await complete(page, begun_anew=True)


async def test_what_was_written_while_nobody_listened_is_kept(
    server: MootServer, page: Page, watch: Watch
) -> None:
    watch.allow("ERR_|Failed to fetch")
    await speaking(server, page)
    server.kill()
    await page.get_by_role("textbox", name="Your message").fill("And now?")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    await expect(page.get_by_role("textbox", name="Your message")).to_have_value("And now?")
