"""A reload, a lost network, a killed server: the page picks up where it was, without a gap and without a repeat."""

from urllib.parse import urlsplit

from playwright.async_api import Page, expect

from moot.providers.scripts import SAMPLE
from tests.page.watching import Watch
from tests.serving import MootServer

WHOLE = " ".join([SAMPLE] * 4)  # what scripted/long says


async def speaking(server: MootServer, page: Page) -> str:
    """Open a discussion in which somebody speaks for seconds, and wait for the first words."""
    body = {"message": "Why?", "title": "Long", "participants": ["scripted/long", "scripted/long"]}
    reply = await server.post("/api/discussions", body)
    await page.goto(f"{server.url}/d/{reply.body['discussion']['id']}")
    await expect(page.get_by_role("article").first).to_contain_text("A table has")
    return str(reply.body["run"]["id"])


async def complete(page: Page) -> None:
    for card in (page.get_by_role("article").nth(0), page.get_by_role("article").nth(1)):
        await expect(card.locator(".markdown")).to_have_text(WHOLE, timeout=60_000)
    await expect(page.get_by_role("article")).to_have_count(2)


async def test_a_reload_in_the_middle_loses_nothing(server: MootServer, page: Page) -> None:
    await speaking(server, page)
    await page.reload()
    await expect(page.get_by_role("article").first).to_contain_text("A table has")
    await complete(page)


async def test_a_lost_network_is_said_and_then_made_up_for(
    server: MootServer, page: Page, watch: Watch
) -> None:
    watch.allow("ERR_INTERNET_DISCONNECTED|Failed to fetch")
    await speaking(server, page)
    state = page.get_by_role("navigation").get_by_role("status")
    await expect(state).to_have_text("Connected")
    await page.context.set_offline(True)
    await expect(state).to_contain_text("No connection")
    await page.context.set_offline(False)
    await expect(state).to_have_text("Connected", timeout=30_000)
    await complete(page)


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
    await expect(state).to_have_text("Connected", timeout=30_000)
    await complete(page)


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
