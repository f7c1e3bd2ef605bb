"""The composer: how a message is written, its attachments and options, and what happens when it is rejected."""

import base64
import re
from pathlib import Path

from playwright.async_api import FilePayload, Locator, Page, Request, Route, expect

from tests.page.axe import assert_accessible
from tests.page.dedicated_server import run_server_for_page
from tests.page.discussions import open_discussion, wait_until_idle
from tests.page.focus import assert_focus_visible
from tests.page.page_errors import PageErrors
from tests.support.moot_server import MootServer

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAFklEQVR4nGNgYPhPIhrVMKphyGoAAJjl/wGsoxM3AAAAAElFTkSuQmCC"
)
DROP_FILE_JS = """(box) => {
    const data = new DataTransfer();
    data.items.add(new File(['# Dropped'], 'dropped.md', { type: 'text/markdown' }));
    box.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
}"""
PASTE_FILE_JS = """(box) => {
    const data = new DataTransfer();
    data.items.add(new File(['Pasted'], 'pasted.txt', { type: 'text/plain' }));
    box.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
}"""


def message_box(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Your message")


def file_payload(name: str, type: str, content: bytes) -> FilePayload:
    return {"name": name, "mimeType": type, "buffer": content}


async def test_message_draft_is_persisted_sent_recalled_and_edited(server: MootServer, page: Page) -> None:
    id = await open_discussion(server, "echo")
    await page.goto(f"{server.url}/d/{id}")
    await message_box(page).press_sequentially("One")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("two")
    await expect(message_box(page)).to_have_value("One\ntwo")
    await expect(page.get_by_role("button", name="Costs nothing, 1 call")).to_be_visible()
    await page.reload()
    await expect(message_box(page)).to_have_value("One\ntwo")

    await message_box(page).press("Enter")
    await expect(message_box(page)).to_have_value("")
    await expect(page.get_by_role("article").nth(1)).to_contain_text("two")
    await page.get_by_role("link", name="New discussion").click()
    await expect(page.get_by_label("Your question")).to_be_visible()
    await page.go_back()
    await message_box(page).fill("Begun")
    await message_box(page).press("Control+ArrowUp")
    await expect(message_box(page)).to_have_value("One\ntwo")
    await message_box(page).press("Control+ArrowUp")
    await expect(message_box(page)).to_have_value("About Tables?")
    await message_box(page).press("Control+ArrowDown")
    await message_box(page).press("Control+ArrowDown")
    await expect(message_box(page)).to_have_value("Begun")
    await message_box(page).press("Control+Enter")
    await expect(page.get_by_role("article").nth(2)).to_contain_text("Begun")

    await page.get_by_text("Begun").first.hover()
    await page.get_by_role("button", name="More about this message").last.click()
    await page.get_by_role("menuitem", name="Use as a new question").click()
    await expect(message_box(page)).to_have_value("Begun")
    await message_box(page).fill("Begun anew")
    await message_box(page).press("Enter")
    await expect(page.get_by_role("article").nth(3)).to_contain_text("Begun anew")
    await wait_until_idle(page)

    await page.get_by_role("button", name="More about this message").last.click()
    await page.get_by_role("menuitem", name="Edit the message").click()
    await page.get_by_label("Text").fill("Begun at last\n```py\nx = 1\n```")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("You · edited")).to_be_visible()
    await expect(page.get_by_text("Begun at last", exact=True)).to_be_visible()
    code = page.locator(".asked").last.locator("figure.code")
    await expect(code.locator("figcaption")).to_contain_text("py")
    await expect(code.locator("code")).to_have_text("x = 1")


async def test_mentions_insert_participants_and_discussions_by_keyboard_and_mouse(
    server: MootServer, page: Page
) -> None:
    await open_discussion(server, "echo", title="Chairs and stools")
    id = await open_discussion(server, "echo", "steady")
    await page.goto(f"{server.url}/d/{id}")
    await message_box(page).press_sequentially("Ask @st")
    choices = page.get_by_role("listbox", name="Mention").get_by_role("option")
    await expect(choices.first).to_contain_text("Steady")
    await expect(choices.nth(1)).to_contain_text("Chairs and stools")
    await assert_accessible(page, within=page.get_by_role("form", name="Your message"))
    await page.keyboard.press("Enter")
    await expect(message_box(page)).to_have_value("Ask @Steady ")
    await page.keyboard.type("about @cha")
    await page.get_by_role("option", name="Chairs and stools").click()
    await expect(message_box(page)).to_have_value('Ask @Steady about @"Chairs and stools" ')
    await page.keyboard.type("@ec")
    await expect(choices).to_have_count(1)
    await page.keyboard.press("Escape")
    await expect(choices).to_have_count(0)

    offer = page.get_by_role("button", name="Only Steady answers")
    await expect(page.get_by_text("Everyone sees this and answers. To choose one:")).to_be_visible()
    await page.keyboard.press("Tab")
    await expect(offer).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(message_box(page)).to_be_focused()
    await expect(page.get_by_text("only: the others do not see this message")).to_be_visible()
    await message_box(page).press("Enter")
    await expect(page.get_by_text("To Steady only")).to_be_visible()
    steady = page.get_by_role("article", name="Steady")
    await expect(steady).to_have_count(2)
    await expect(steady.nth(1).get_by_role("button", name="Copy this answer")).to_be_visible()
    await expect(page.get_by_role("article", name="Echo")).to_have_count(1)


async def test_reference_summary_is_shown_under_message_and_after_reload(server: MootServer, page: Page) -> None:
    other = await open_discussion(server, "echo", title="Chairs and stools")
    id = await open_discussion(server, "echo", task_model="scripted/task-model")
    await page.goto(f"{server.url}/d/{id}")
    await message_box(page).fill('As in @"Chairs and stools"?')
    await message_box(page).press("Enter")
    summaries = page.get_by_role("list", name="Included summaries")
    for _ in range(2):
        await expect(page.get_by_role("article")).to_have_count(2)
        await expect(summaries).to_have_text("Includes a summary of Chairs and stools")
        await expect(summaries.get_by_role("link")).to_have_attribute("href", f"/d/{other}")
        await page.reload()


async def test_files_are_attached_by_button_drop_and_paste_and_sent(
    server: MootServer, page: Page, page_errors: PageErrors
) -> None:
    page_errors.allow("400")  # the server rejects the file that is not text
    id = await open_discussion(server, "echo")
    await page.goto(f"{server.url}/d/{id}")
    composer = page.get_by_role("form", name="Your message")
    files = composer.get_by_role("list", name="Files of this message")
    await composer.locator("input[type=file]").set_input_files(
        [
            file_payload("square.png", "image/png", PNG),
            file_payload("film.mp4", "video/mp4", b"film"),
            file_payload("odd.txt", "text/plain", b"\xff\0"),
        ]
    )
    await expect(composer.get_by_role("alert").filter(has_text="film.mp4: Unsupported file type")).to_be_visible()
    await expect(files.get_by_role("alert")).to_contain_text("no text in UTF-8")
    await files.get_by_role("button", name="Remove odd.txt").click()
    await message_box(page).evaluate(DROP_FILE_JS)
    await message_box(page).evaluate(PASTE_FILE_JS)
    await expect(files.get_by_role("listitem")).to_have_count(3)
    await expect(files.get_by_role("progressbar")).to_have_count(0)
    await assert_accessible(page, within=composer)
    await files.get_by_role("button", name="Remove pasted.txt").click()
    await page.reload()
    await expect(files).to_contain_text("dropped.md")

    await message_box(page).fill("Look at these")
    await message_box(page).press("Enter")
    sent = page.get_by_role("list", name="Files", exact=True)
    await expect(sent.get_by_role("link", name="dropped.md")).to_be_visible()
    picture = sent.get_by_role("link", name="square.png").locator("img")
    assert await picture.evaluate("(image) => image.decode().then(() => image.naturalWidth)") == 16
    await expect(files).to_have_count(0)


async def test_send_rejects_file_that_a_participant_cannot_read(
    server: MootServer, page: Page, page_errors: PageErrors
) -> None:
    page_errors.allow("400")
    id = await open_discussion(server, "echo")
    participants = [{"model": "scripted/echo", "name": "Echo"}, {"model": "local/smollm2", "name": "Tiny"}]
    changed = await server.call("PATCH", f"/api/discussions/{id}", {"participants": participants})
    assert changed.status == 200, changed
    await page.goto(f"{server.url}/d/{id}")
    composer = page.get_by_role("form", name="Your message")
    await composer.locator("input[type=file]").set_input_files([file_payload("square.png", "image/png", PNG)])
    await expect(composer.get_by_role("progressbar")).to_have_count(0)
    await message_box(page).fill("Look at this")
    await message_box(page).press("Enter")
    await expect(composer.get_by_role("alert")).to_have_text(
        re.compile(r"^\s*Tiny \(local/smollm2\) takes no image files such as square\.png: leave the file out")
    )
    await expect(message_box(page)).to_have_value("Look at this")
    await composer.get_by_role("button", name="Remove square.png").click()
    await expect(composer.get_by_role("list", name="Files of this message")).to_have_count(0)


async def test_run_is_interrupted_stopped_and_continued_from_composer(server: MootServer, page: Page) -> None:
    id = await open_discussion(server, "unending", "echo", wait=False)
    await page.goto(f"{server.url}/d/{id}")
    unending = page.get_by_role("article", name="Unending")
    await expect(unending).to_contain_text("table")
    await message_box(page).fill("Wait")
    await expect(page.get_by_text("Sending a message interrupts them")).to_be_visible()
    await message_box(page).press("Enter")
    await expect(unending).to_have_count(2)
    await expect(unending.first).to_contain_text("Interrupted")
    await expect(page.get_by_role("article", name="Echo").nth(1)).to_contain_text("Wait")
    await expect(unending.nth(1)).to_contain_text("table")
    await message_box(page).press("Escape")
    await expect(unending.nth(1)).to_contain_text("Stopped")
    await expect(page.get_by_text("Sending a message interrupts them")).to_have_count(0)

    await message_box(page).fill("")
    go_on = page.get_by_role("group", name="Continue without a message")
    await go_on.get_by_label("Number of turns").press("Enter")
    await expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    await page.get_by_role("button", name="Stop", exact=True).press("Enter")
    await expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
    await assert_focus_visible(page)


async def test_rejected_message_keeps_text_and_shows_error(tmp_path: Path, page: Page, page_errors: PageErrors) -> None:
    page_errors.allow("402|429")
    settings = "weekly_budget_usd = 0.0\n[rates]\nmessages_per_minute = 1\nmessages_burst = 2\n"
    scripts = '[dear]\nanswer = "Dear."\nusd_per_million_tokens = 1000.0\n'
    async with run_server_for_page(page, tmp_path, settings=settings, scripts=scripts) as server:
        id = await open_discussion(server, "echo")
        participants = [{"model": "scripted/dear", "name": "Dear"}]
        changed = await server.call("PATCH", f"/api/discussions/{id}", {"participants": participants})
        assert changed.status == 200, changed
        await page.goto(f"{server.url}/d/{id}")
        alert = page.get_by_role("form", name="Your message").get_by_role("alert")
        await message_box(page).fill("What now?")
        await message_box(page).press("Enter")
        await expect(alert.get_by_role("link", name="See the budget")).to_be_visible()
        await expect(message_box(page)).to_have_value("What now?")
        await message_box(page).press("Enter")
        await expect(alert).to_contain_text("Your text is kept.")
        await expect(message_box(page)).to_have_value("What now?")
        await assert_accessible(page, within=alert)


async def test_resend_after_lost_response_and_reload_reuses_idempotency_key(
    server: MootServer, page: Page, page_errors: PageErrors
) -> None:
    page_errors.allow("ERR_")
    id = await open_discussion(server, "echo")
    sent: list[Request] = []

    async def lose_response(route: Route) -> None:
        await route.fetch()
        await route.abort()

    await page.goto(f"{server.url}/d/{id}")
    page.on("request", lambda one: sent.append(one) if one.url.endswith("/messages") else None)
    await page.route("**/messages", lose_response, times=1)
    await page.get_by_role("button", name="Price").click()
    await page.get_by_label("Spending limit").fill("0.5")
    await page.keyboard.press("Escape")
    await message_box(page).fill("And square?")
    await message_box(page).press("Enter")
    await expect(page.get_by_role("form").get_by_role("alert")).to_contain_text("Cannot reach the server")
    await page.reload()
    await expect(message_box(page)).to_have_value("And square?")
    await message_box(page).press("Enter")
    await expect(message_box(page)).to_have_value("")
    await expect(page.get_by_role("article")).to_have_count(2)
    first, second = ((one.headers["idempotency-key"], one.post_data) for one in sent)
    assert first == second
    assert '"max_cost_usd":0.5' in (first[1] or "")
    messages = (await server.get(f"/api/discussions/{id}")).body["messages"]
    assert [one["content"] for one in messages if one["role"] == "user"] == ["About Tables?", "And square?"]
