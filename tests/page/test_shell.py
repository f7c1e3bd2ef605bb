"""What is around a discussion: the list, search, archive, keys, the look, and a phone."""

from playwright.async_api import Page, expect

from tests.page.axe import axe
from tests.serving import MootServer

LIGHT, DARK = "rgb(250, 249, 247)", "rgb(20, 21, 23)"  # what --paper is

# How many things are being moved for longer than a moment.
MOVING = """() => document.getAnimations().filter(
    (one) => one.effect.getComputedTiming().activeDuration > 100
).length"""


async def opened(server: MootServer, title: str, *models: str) -> str:
    body = {"message": f"About {title}?", "title": title, "participants": models or ("scripted/echo",)}
    reply = await server.post("/api/discussions", body)
    assert reply.status == 201, reply
    await server.heard(reply.body["run"]["id"])
    return str(reply.body["discussion"]["id"])


async def more(page: Page, title: str, item: str) -> None:
    """Choose from the menu of a discussion, which comes when the mouse is over it."""
    await page.get_by_role("navigation", name="Discussions").get_by_role("link", name=title).hover()
    await page.get_by_role("button", name=f"More about {title}").click()
    await page.get_by_role("menuitem", name=item).click()


async def test_discussions_are_listed_searched_archived_and_deleted(server: MootServer, page: Page) -> None:
    for title in ("Tables", "Chairs", "Stools"):
        await opened(server, title)
    await page.goto(server.url)
    shelf = page.get_by_role("navigation", name="Discussions")
    titles = shelf.get_by_role("list").first.get_by_role("link")
    await expect(titles).to_have_text(["Stools", "Chairs", "Tables"])

    await shelf.get_by_label("Search discussions").fill("About Chairs")
    await expect(shelf.get_by_role("link", name="Tables")).to_have_count(0)
    await expect(shelf.get_by_role("link", name="Chairs")).to_be_visible()
    await shelf.get_by_label("Search discussions").fill("")
    await expect(shelf.get_by_role("link", name="Tables")).to_be_visible()

    await more(page, "Tables", "Archive")
    await expect(shelf.get_by_role("link", name="Tables")).to_have_count(0)
    await page.get_by_role("button", name="Undo").click()
    await expect(shelf.get_by_role("link", name="Tables")).to_be_visible()

    await more(page, "Stools", "Archive")
    await expect(shelf.get_by_role("link", name="Stools")).to_have_count(0)
    archive = shelf.get_by_role("button", name="Archive", exact=True)
    await archive.click()
    await expect(titles).to_have_text(["Stools"])
    await axe(page)
    await more(page, "Stools", "Take out of the archive")
    await expect(shelf.get_by_text("Nothing is archived.")).to_be_visible()
    await archive.click()
    await expect(shelf.get_by_role("link", name="Stools")).to_be_visible()

    await more(page, "Chairs", "Delete")
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(shelf.get_by_role("link", name="Chairs")).to_have_count(0)
    await axe(page)


async def test_what_happens_elsewhere_is_seen_at_once(server: MootServer, page: Page) -> None:
    await page.goto(server.url)
    shelf = page.get_by_role("navigation", name="Discussions")
    await expect(shelf.get_by_text("No discussions yet.")).to_be_visible()
    body = {"message": "Why?", "title": "From elsewhere", "participants": ["scripted/long"]}
    reply = await server.post("/api/discussions", body)
    link = shelf.get_by_role("link", name="From elsewhere")
    await expect(link).to_be_visible()
    await expect(link.get_by_label("is generating")).to_be_visible()
    await server.post(f"/api/runs/{reply.body['run']['id']}/stop")
    await expect(link.get_by_label("is generating")).to_have_count(0)


async def test_keys_reach_everything_and_say_so(server: MootServer, page: Page) -> None:
    id = await opened(server, "Tables")
    await page.goto(f"{server.url}/d/{id}")
    await expect(page.get_by_role("article")).to_contain_text("About Tables?")
    await page.locator("#main").focus()
    await page.keyboard.press("?")
    help = page.get_by_role("dialog", name="Keys")
    await expect(help).to_contain_text("Search discussions")
    await axe(page)
    await page.keyboard.press("Escape")
    await expect(help).to_have_count(0)
    await page.keyboard.press("/")
    await expect(page.get_by_label("Search discussions")).to_be_focused()
    await page.locator("#main").focus()
    await page.keyboard.press("g")
    await page.keyboard.press("u")
    await expect(page).to_have_url(f"{server.url}/usage")
    await page.go_back()
    await expect(page.get_by_role("article")).to_contain_text("About Tables?")


async def test_dark_is_chosen_and_kept(server: MootServer, page: Page) -> None:
    await opened(server, "Tables")
    await page.goto(server.url)
    look = page.get_by_role("button", name="As the system")
    await look.click()
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    await axe(page)
    await page.reload()
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")


async def test_light_is_chosen_where_the_system_is_dark(server: MootServer, page: Page) -> None:
    await page.emulate_media(color_scheme="dark")
    await page.goto(server.url)
    body = page.locator("body")
    await expect(body).to_have_css("background-color", DARK)
    await page.get_by_role("button", name="As the system").click()
    await page.get_by_role("button", name="Dark", exact=True).click()
    await expect(page.get_by_role("button", name="Light", exact=True)).to_be_visible()
    await expect(body).to_have_css("background-color", LIGHT)
    await page.reload()
    await expect(body).to_have_css("background-color", LIGHT)
    await axe(page)


async def test_a_title_is_changed_where_it_stands(server: MootServer, page: Page) -> None:
    id = await opened(server, "Tables")
    await page.goto(f"{server.url}/d/{id}")
    await page.get_by_role("button", name="Tables", exact=True).click()
    await page.get_by_label("Title").fill("Round tables")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Round tables")).to_be_visible()
    await expect(page.get_by_role("link", name="Round tables")).to_be_visible()


async def test_on_a_phone_the_list_is_behind_a_button_and_one_card_fills_the_screen(
    server: MootServer, page: Page
) -> None:
    await page.set_viewport_size({"width": 390, "height": 844})
    id = await opened(server, "Tables", "scripted/echo", "scripted/thinker")
    await page.goto(f"{server.url}/d/{id}")
    cards = page.get_by_role("article")
    await expect(cards).to_have_count(2)
    box = await cards.first.bounding_box()
    assert box is not None
    assert 300 < box["width"] < 390
    await expect(cards.nth(1)).not_to_be_in_viewport(ratio=0.5)
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390
    await axe(page)
    await page.get_by_role("button", name="Discussions").click()
    await page.get_by_role("link", name="New discussion").click()
    await expect(page).to_have_url(f"{server.url}/")


async def test_an_address_that_is_nothing_says_so(server: MootServer, page: Page) -> None:
    await page.goto(f"{server.url}/nowhere/at/all")
    await expect(page.get_by_text("There is nothing at this address.")).to_be_visible()


async def test_on_a_phone_a_title_and_the_connection_are_shown_once(server: MootServer, page: Page) -> None:
    await page.set_viewport_size({"width": 390, "height": 844})
    for path, title in (("models", "Models and keys"), ("personas", "Personas"), ("usage", "Usage")):
        await page.goto(f"{server.url}/{path}")
        heading = page.get_by_role("heading", name=title, level=1)
        await expect(heading).to_have_css("clip-path", "inset(50%)")
        await expect(page.locator(".bar .title")).to_have_text(title)
    await page.get_by_role("button", name="Discussions").click()
    await expect(page.get_by_role("status").filter(has_text="Connected")).to_have_count(1)


async def test_nothing_moves_for_whoever_wants_it_still(server: MootServer, page: Page) -> None:
    body = {"message": "Why?", "title": "Long", "participants": ["scripted/long", "scripted/long"]}
    reply = await server.post("/api/discussions", body)
    await page.goto(f"{server.url}/d/{reply.body['discussion']['id']}")
    await expect(page.get_by_role("button", name="Stop Alpha")).to_be_visible()
    assert await page.evaluate(MOVING) == 0
    await page.emulate_media(reduced_motion="no-preference")
    await page.wait_for_function(f"() => ({MOVING})() > 0")
