"""What is around a discussion: the list, search, archive, keys, the look, and a phone."""

import re
from contextlib import suppress

from playwright.async_api import Locator, Page, ViewportSize, expect

from tests.page.axe import assert_accessible
from tests.page.contexts import BrowserContexts
from tests.page.discussions import open_discussion
from tests.page.focus import assert_focus_visible
from tests.page.page_errors import PageErrors
from tests.page.phone import PHONE_WIDTH, open_phone_page, swipe
from tests.page.timeouts import KEEP_TOASTS_JS
from tests.support.moot_server import MootServer

KEY_TIMEOUT_MILLISECONDS = 1000  # after which a key is pressed once more
DESKTOP: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}
# Buttons and fields within an element that a toast covers.
COVERED_CONTROLS_JS = """(within) => {
    const over = (one, other) =>
        one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
    const toasts = [...document.querySelectorAll(".toast")].map((one) => one.getBoundingClientRect());
    return [...document.querySelector(within).querySelectorAll("button, a, textarea, input")]
        .filter((one) => !one.closest(".toast"))
        .filter((one) => toasts.some((box) => over(box, one.getBoundingClientRect())))
        .map((one) => one.outerHTML);
}"""
# The words that a jump has marked.
MARKED_TEXT_JS = "[...(CSS.highlights.get('moot-quote') ?? [])].join()"
LIGHT_BACKGROUND, DARK_BACKGROUND = "rgb(250, 249, 247)", "rgb(20, 21, 23)"  # what --paper is

# How many things are being moved for longer than a moment.
COUNT_ANIMATIONS_JS = """() => document.getAnimations().filter(
    (one) => one.effect.getComputedTiming().activeDuration > 100
).length"""


async def choose_menu_item(page: Page, title: str, item: str) -> None:
    """Choose from the menu of a discussion, which comes when the mouse is over it."""
    await page.get_by_role("navigation", name="Discussions").get_by_role("link", name=title).hover()
    await page.get_by_role("button", name=f"More about {title}").click()
    await page.get_by_role("menuitem", name=item).click()


async def wait_until_snapped(cards: Locator, index: int) -> None:
    """Wait until a card stands at the left edge and takes the screen, and no other is there to be read."""
    there = """(card) => {
        const { left, width } = card.getBoundingClientRect();
        const grid = card.closest(".grid");
        const padding = parseFloat(getComputedStyle(grid).scrollPaddingLeft);
        return Math.abs(left - padding) < 1 && width > innerWidth * 0.85;
    }"""
    await cards.page.wait_for_function(there, arg=await cards.nth(index).element_handle())
    for other in range(await cards.count()):
        if other != index:
            await expect(cards.nth(other)).not_to_be_in_viewport(ratio=0.1)


async def press_shortcut(page: Page, key: str, url: str) -> None:
    """Press one key after the other, and once more where the machine took too long between them."""
    for _ in range(10):
        await page.locator("#main").focus()
        await page.keyboard.press("g")
        await page.keyboard.press(key)
        with suppress(AssertionError):
            await expect(page).to_have_url(url, timeout=KEY_TIMEOUT_MILLISECONDS)
            return
    raise AssertionError(f"g {key} does not lead to {url}")


async def test_discussion_list_searches_archives_and_deletes(server: MootServer, page: Page) -> None:
    await page.add_init_script(KEEP_TOASTS_JS)
    for title in ("Tables", "Chairs", "Stools"):
        await open_discussion(server, "echo", title=title)
    await page.goto(server.url)
    discussion_list = page.get_by_role("navigation", name="Discussions")
    titles = discussion_list.get_by_role("list").first.get_by_role("link")
    await expect(titles).to_have_text(["Stools", "Chairs", "Tables"])

    await discussion_list.get_by_label("Search discussions").fill("About Chairs")
    await expect(discussion_list.get_by_role("link", name="Tables")).to_have_count(0)
    await expect(discussion_list.get_by_role("heading", name="Results, archive included")).to_be_visible()
    await discussion_list.get_by_role("link", name="Chairs About Chairs?").click()
    answer = page.get_by_role("article")
    await expect(page).to_have_url(re.compile(f"/d/.+#{await answer.get_attribute('id')}$"))
    await expect(answer).to_be_focused()
    await page.wait_for_function(f"() => {MARKED_TEXT_JS} === 'Chairs'")
    await assert_accessible(page)
    await discussion_list.get_by_label("Search discussions").fill("")
    await expect(discussion_list.get_by_role("link", name="Tables")).to_be_visible()

    await choose_menu_item(page, "Tables", "Archive")
    await expect(discussion_list.get_by_role("link", name="Tables")).to_have_count(0)
    await page.get_by_role("button", name="Undo").click()
    await expect(discussion_list.get_by_role("link", name="Tables")).to_be_visible()

    await choose_menu_item(page, "Stools", "Archive")
    await expect(discussion_list.get_by_role("link", name="Stools")).to_have_count(0)
    archive = discussion_list.get_by_role("button", name="Archive", exact=True)
    await archive.click()
    await expect(discussion_list.get_by_role("heading", name="Archive")).to_be_visible()
    await expect(titles).to_have_text(["Stools"])
    await choose_menu_item(page, "Stools", "Restore")
    await expect(discussion_list.get_by_role("heading", name="Archive")).to_have_count(0)
    await expect(discussion_list.get_by_role("link", name="Stools")).to_be_visible()
    brought = page.get_by_text("Restored.").locator("..")
    await brought.get_by_role("button", name="Undo").click()
    await expect(discussion_list.get_by_role("link", name="Stools")).to_have_count(0)
    await archive.click()
    await expect(titles).to_have_text(["Stools"])
    await titles.click()
    await expect(page.get_by_text("This discussion is archived.")).to_be_visible()
    await page.get_by_role("main").get_by_role("button", name="Restore").click()
    await expect(page.get_by_text("This discussion is archived.")).to_have_count(0)
    await expect(discussion_list.get_by_role("heading", name="Archive")).to_have_count(0)
    await expect(discussion_list.get_by_role("link", name="Stools")).to_be_visible()

    await choose_menu_item(page, "Chairs", "Delete")
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(discussion_list.get_by_role("link", name="Chairs")).to_have_count(0)


async def test_discussion_list_updates_when_discussion_is_created_elsewhere(server: MootServer, page: Page) -> None:
    await page.goto(server.url)
    discussion_list = page.get_by_role("navigation", name="Discussions")
    await expect(discussion_list.get_by_text("No discussions yet.")).to_be_visible()
    body = {"message": "Why?", "title": "From elsewhere", "participants": ["scripted/unending"]}
    reply = await server.post("/api/discussions", body)
    link = discussion_list.get_by_role("link", name="From elsewhere")
    await expect(link).to_be_visible()
    await expect(link.get_by_label("is generating")).to_be_visible()
    await server.post(f"/api/runs/{reply.body['run']['id']}/stop")
    await expect(link.get_by_label("is generating")).to_have_count(0)


async def test_search_excerpt_is_visible_below_long_title(server: MootServer, page: Page) -> None:
    await open_discussion(
        server, "echo", title="A title that is surely too long for one line of the list beside a discussion"
    )
    await page.goto(server.url)
    discussion_list = page.get_by_role("navigation", name="Discussions")
    await discussion_list.get_by_label("Search discussions").fill("about")
    note = discussion_list.get_by_text("About A title that is surely")
    await expect(note).to_be_visible()
    box, around = await note.bounding_box(), await discussion_list.get_by_role("listitem").first.bounding_box()
    assert box is not None
    assert around is not None
    assert around["y"] <= box["y"]
    assert box["y"] + box["height"] <= around["y"] + around["height"]


async def test_listed_keyboard_shortcuts_work(server: MootServer, page: Page) -> None:
    id = await open_discussion(server, "echo")
    await page.goto(f"{server.url}/d/{id}")
    await expect(page.get_by_role("article")).to_contain_text("About Tables?")
    await page.locator("#main").focus()
    await page.keyboard.press("?")
    help = page.get_by_role("dialog", name="Keyboard shortcuts")
    await expect(help).to_be_visible()
    listed = ["".join((await one.inner_text()).split()) for one in await help.get_by_role("term").all()]
    assert sorted(listed) == sorted(
        [
            "?",
            "/",
            "Alt+N",
            "GU",
            "GP",
            "GJ",
            "GK",
            "Esc",
            "Enter",
            "Ctrl+Enter",
            "Shift+Enter",
            "Ctrl+Up",
            "@",
        ]
    )
    await expect(help).to_contain_text("Search discussions")
    await assert_accessible(page, within=help)
    await page.keyboard.press("Escape")
    await expect(help).to_have_count(0)
    await page.keyboard.press("/")
    await expect(page.get_by_label("Search discussions")).to_be_focused()
    await press_shortcut(page, "u", f"{server.url}/usage")
    await page.go_back()
    await expect(page.get_by_role("article")).to_contain_text("About Tables?")
    places = {"p": "personas", "j": "projects", "k": "models"}
    for key, path in places.items():
        await press_shortcut(page, key, f"{server.url}/{path}")
    await page.goto(f"{server.url}/d/{id}")
    words = page.get_by_role("textbox", name="Your message")
    await words.press("Control+ArrowUp")
    await expect(words).to_have_value("About Tables?")
    await words.press("Alt+n")  # also while one writes
    await expect(page).to_have_url(f"{server.url}/")
    await expect(page.get_by_label("Your question")).to_be_focused()


async def test_toasts_cover_no_controls_and_repeats_are_merged(server: MootServer, page: Page) -> None:
    await page.add_init_script(KEEP_TOASTS_JS)
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    id = await open_discussion(server, "echo")
    for size in (DESKTOP, PHONE):
        await page.set_viewport_size(size)
        await page.goto(f"{server.url}/d/{id}")
        await page.get_by_role("article").hover()
        await page.get_by_role("button", name="More about this answer").click()
        await page.get_by_role("menuitem", name="View prompt").click()
        sheet = page.get_by_role("dialog", name="Prompt for Echo")
        for _ in range(3):
            await sheet.get_by_role("button", name="Copy all").click()
        toast = page.locator(".toast")
        await expect(toast).to_have_text(re.compile(r"^\s*Copied\.\s+3 times\s*$"))
        assert await page.evaluate(COVERED_CONTROLS_JS, "dialog[open]") == []
        await sheet.get_by_role("button", name="Close").last.click()
        await expect(sheet).to_have_count(0)
        await expect(toast).to_be_visible()
        assert await page.evaluate(COVERED_CONTROLS_JS, ".shell") == []
    await assert_accessible(page, within=toast)


async def test_dark_theme_is_persisted(server: MootServer, page: Page) -> None:
    await open_discussion(server, "echo")
    await page.goto(server.url)
    await page.get_by_role("button", name="System theme (light)").click()
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    await page.reload()
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")


async def test_light_theme_overrides_dark_system_theme(server: MootServer, page: Page) -> None:
    await page.emulate_media(color_scheme="dark")
    await page.goto(server.url)
    body = page.locator("body")
    await expect(body).to_have_css("background-color", DARK_BACKGROUND)
    await page.get_by_role("button", name="System theme (dark)").click()
    await page.get_by_role("button", name="Dark theme").click()
    await expect(page.get_by_role("button", name="Light theme")).to_be_visible()
    await expect(body).to_have_css("background-color", LIGHT_BACKGROUND)
    await page.reload()
    await expect(body).to_have_css("background-color", LIGHT_BACKGROUND)


async def test_discussion_title_is_edited_in_place(server: MootServer, page: Page) -> None:
    id = await open_discussion(server, "echo")
    await page.goto(f"{server.url}/d/{id}")
    await page.get_by_role("button", name="Tables", exact=True).press("Enter")
    title = page.get_by_label("Title")
    await title.fill("Round tables")
    await title.dispatch_event("keydown", {"key": "Enter", "isComposing": True})
    await expect(title).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Round tables")).to_be_visible()
    await assert_focus_visible(page)
    await expect(page.get_by_role("link", name="Round tables")).to_be_visible()


async def test_settings_dialog_shows_error_each_time_its_code_fails_to_load(
    server: MootServer, page: Page, page_errors: PageErrors
) -> None:
    page_errors.allow("Failed to load resource")
    id = await open_discussion(server, "echo")
    await page.route("**/ChangeParticipants-*.js", lambda route: route.abort())
    await page.goto(f"{server.url}/d/{id}")
    settings = page.get_by_role("dialog", name="Settings of this discussion")
    for _ in range(2):
        await page.get_by_role("button", name="Settings of this discussion").click()
        await expect(settings.get_by_role("alert")).to_have_text(
            "This part of the page could not be loaded. Reload the page."
        )
        await settings.get_by_role("button", name="Close").click()
        await expect(settings).to_have_count(0)


async def test_phone_swipe_moves_between_cards_and_menus_are_reachable(
    server: MootServer, page: Page, contexts: BrowserContexts
) -> None:
    id = await open_discussion(server, "echo", "thinker", "steady")
    async with open_phone_page(contexts, page) as small:
        await small.goto(f"{server.url}/d/{id}")
        cards = small.get_by_role("article")
        await expect(cards).to_have_count(3)
        assert await small.evaluate("document.documentElement.scrollWidth") <= PHONE_WIDTH
        await assert_accessible(small)

        await wait_until_snapped(cards, 0)
        most = PHONE_WIDTH * 5 // 8  # of the way to the next card, and not all of it
        await swipe(cards.first, -most)
        await wait_until_snapped(cards, 1)
        dots = small.get_by_role("group", name="Answers").get_by_role("button")
        await expect(dots.nth(1)).to_have_attribute("aria-current", "true")
        await swipe(cards.nth(1), most)
        await wait_until_snapped(cards, 0)

        await small.get_by_role("button", name="Share and more").tap()
        await small.get_by_role("menuitem", name="Rename").tap()
        await small.get_by_label("Title").fill("Round tables")
        await small.keyboard.press("Enter")
        await expect(small.locator(".bar .title")).to_have_text("Round tables")
        await small.get_by_role("button", name="Discussions").tap()
        await small.get_by_role("link", name="New discussion").tap()
        await expect(small).to_have_url(f"{server.url}/")


async def test_unknown_url_shows_not_found_message(server: MootServer, page: Page) -> None:
    await page.goto(f"{server.url}/nowhere/at/all")
    await expect(page.get_by_text("There is nothing at this address.")).to_be_visible()
    await assert_accessible(page)


async def test_deleted_or_unknown_discussion_shows_message(
    server: MootServer, page: Page, page_errors: PageErrors
) -> None:
    page_errors.allow("status of 404")
    address = f"{server.url}/d/{await open_discussion(server, 'echo')}"
    await page.goto(address)
    await expect(page.get_by_role("article")).to_contain_text("About Tables?")
    assert (
        await server.call("DELETE", address.replace(server.url, "").replace("/d/", "/api/discussions/"))
    ).status == 204
    await expect(page.get_by_text("This discussion was deleted.")).to_be_visible()
    await page.goto(address)
    await expect(page.get_by_text("This discussion cannot be shown.")).to_be_visible()
    await expect(page.get_by_role("main")).to_contain_text("There is no discussion")
    await assert_accessible(page)
    await page.get_by_role("link", name="Start a new discussion").click()
    await expect(page.get_by_label("Your question")).to_be_visible()


async def test_phone_shows_title_and_connection_state_once(server: MootServer, page: Page) -> None:
    await page.set_viewport_size({"width": 390, "height": 844})
    for path, title in (("models", "Models and keys"), ("personas", "Personas"), ("usage", "Usage")):
        await page.goto(f"{server.url}/{path}")
        heading = page.get_by_role("heading", name=title, level=1)
        await expect(heading).to_have_css("clip-path", "inset(50%)")
        await expect(page.locator(".bar .title")).to_have_text(title)
    await page.get_by_role("button", name="Discussions").click()
    await expect(page.get_by_text("Connected").locator("visible=true")).to_have_count(1)


async def test_animations_are_off_when_reduced_motion_is_requested(server: MootServer, page: Page) -> None:
    id = await open_discussion(server, participants=["scripted/silence", "scripted/unending"], wait=False)
    await page.goto(f"{server.url}/d/{id}")
    await expect(page.get_by_role("button", name="Stop Alpha")).to_be_visible()
    assert await page.evaluate(COUNT_ANIMATIONS_JS) == 0
    await page.emulate_media(reduced_motion="no-preference")
    await page.wait_for_function(f"() => ({COUNT_ANIMATIONS_JS})() === 1")  # beside words that come nothing moves
