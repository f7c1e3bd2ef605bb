"""Logging in: a rejection says why, and a user who was logged out continues at the same place."""

from playwright.async_api import Page, expect

from moot.store.accounts.accounts import Accounts
from tests.page.axe import assert_accessible
from tests.page.page_errors import PageErrors
from tests.page.shared_server import SharedServer

PASSWORD = "correct horse"


async def log_in(page: Page, password: str) -> None:
    await page.get_by_label("Name").fill("ada")
    await page.get_by_label("Password").fill(password)
    await page.get_by_role("button", name="Log in").click()


async def test_login_rejects_wrong_password_and_returns_to_same_page_after_session_ends(
    shared_server: SharedServer, page: Page, page_errors: PageErrors
) -> None:
    page_errors.allow("status of 401|ERR_INTERNET_DISCONNECTED")  # not logged in, and offline
    server = shared_server.server
    await Accounts(shared_server.database).create_account("ada", PASSWORD)
    await page.goto(server.url)
    await log_in(page, "battery staple")
    await expect(page.get_by_role("alert")).to_contain_text("password")
    await assert_accessible(page)
    await log_in(page, PASSWORD)
    await expect(page.get_by_label("Your question")).to_be_visible()

    cookie = "; ".join(f"{one['name']}={one['value']}" for one in await page.context.cookies())
    who = {"Cookie": cookie}
    body = {"message": "Round?", "title": "Tables", "participants": ["scripted/echo", "scripted/steady"]}
    reply = await server.post("/api/discussions", body, who)
    assert reply.status == 201, reply
    address = f"{server.url}/d/{reply.body['discussion']['id']}"
    await page.get_by_role("link", name="Tables").click()
    await expect(page.get_by_role("article")).to_have_count(2)
    await page.get_by_role("textbox", name="Your message").fill("And now?")

    await page.context.set_offline(True)
    await expect(page.get_by_role("navigation", name="Discussions")).to_contain_text("No connection")
    assert (await server.post("/api/logout", None, who)).status == 204
    await page.context.set_offline(False)
    await expect(page.get_by_role("button", name="Log in")).to_be_visible()
    await log_in(page, PASSWORD)
    await expect(page).to_have_url(address)
    await expect(page.get_by_role("textbox", name="Your message")).to_have_value("And now?")
    await page.get_by_role("textbox", name="Your message").press("Enter")
    await expect(page.get_by_role("article", name="Alpha").nth(1)).to_contain_text("And now?")
