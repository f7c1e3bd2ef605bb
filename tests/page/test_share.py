"""Sharing: downloads with all answers, the link, the exported summary, and the archive."""

import json
import re
from pathlib import Path
from typing import Any

from playwright.async_api import Page, expect

from tests.page.axe import assert_accessible
from tests.page.discussions import choose_reader_model, open_titled_discussion
from tests.page.focus import assert_focus_visible
from tests.page.page_errors import PageErrors
from tests.page.timeouts import KEEP_TOASTS_JS
from tests.support.moot_server import MootServer


async def test_discussion_link_is_copied_summary_exported_and_discussion_archived(
    server: MootServer, page: Page
) -> None:
    await page.add_init_script(KEEP_TOASTS_JS)
    id = await open_titled_discussion(server, "Round or square?", participants=["scripted/priced", "scripted/echo"])
    await page.goto(f"{server.url}/d/{id}")
    menu = page.get_by_role("button", name="Share")
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await menu.click()
    await assert_accessible(page, within=page.get_by_role("menu"))
    await page.get_by_role("menuitem", name="Copy the link").click()
    await expect(page.get_by_text("Link copied.")).to_be_visible()
    assert await page.evaluate("navigator.clipboard.readText()") == f"{server.url}/d/{id}"

    await menu.click()
    await page.get_by_role("menuitem", name="Summarise").click()
    dialog = page.get_by_role("dialog", name="Summary")
    await expect(dialog.get_by_role("combobox")).to_have_attribute("placeholder", "scripted/priced")
    await choose_reader_model(dialog, "scripted/export")
    await dialog.get_by_role("button", name="Summarise").click()
    await expect(dialog).to_contain_text("Round tables help people talk.")
    await expect(dialog).to_contain_text("Useful · 72 of 100")
    await expect(dialog.get_by_role("article")).to_have_count(2)
    await expect(dialog.get_by_role("button", name="Summarise again")).to_have_css("opacity", "1")
    await assert_accessible(page, within=dialog)
    await dialog.get_by_role("link", name="message 1").first.click()
    await expect(dialog).to_have_count(0)
    assert "#msg_" in page.url

    await menu.press("Enter")
    await page.get_by_role("menuitem", name="Archive").press("Enter")
    discussion_list = page.get_by_role("navigation", name="Discussions")
    await expect(discussion_list.get_by_role("link", name="Round or square?")).to_have_count(0)
    await assert_focus_visible(page)
    await page.get_by_role("button", name="Undo").press("Enter")
    await expect(discussion_list.get_by_role("link", name="Round or square?")).to_be_visible()
    await assert_focus_visible(page)


async def create_debate_with_versions(server: MootServer) -> tuple[str, list[Any], Any]:
    """Create a debate, regenerate one of its answers, and send a message that one participant fails to answer.

    Return the discussion, its messages, and the first version of the regenerated answer.
    """
    body = {
        "message": "Shall we split the service in two?",
        "title": "The split",
        "mode": "debate",
        "participants": ["scripted/advocate", "scripted/sceptic", "scripted/undecided"],
    }
    opened = (await server.post("/api/discussions", body)).body
    await server.run_events(opened["run"]["id"])
    path = f"/api/discussions/{opened['discussion']['id']}"
    first = next(one for one in (await server.get(path)).body["messages"] if one["stage"] == "initial")
    regenerated = await server.post(f"{path}/turns/{first['id']}/regenerate", {"model": "scripted/thinker"})
    await server.run_events(regenerated.body["run"]["id"])
    models = ["scripted/echo", "scripted/unauthorized"]
    await server.call("PATCH", path, {"mode": "parallel", "participants": [{"model": one} for one in models]})
    asked = await server.post(f"{path}/messages", {"message": "And **when**?"})
    await server.run_events(asked.body["run"]["id"])
    messages = (await server.get(f"{path}?limit=100")).body["messages"]
    assert {one["status"] for one in messages} == {"completed", "failed"}
    assert max(one["versions"] for one in messages) == 2
    assert [one["role"] for one in messages].count("synthesis") >= 1
    return str(opened["discussion"]["id"]), messages, first


async def test_downloaded_debate_is_complete_and_readable_offline(
    server: MootServer, tmp_path: Path, page: Page, page_errors: PageErrors
) -> None:
    id, messages, earlier = await create_debate_with_versions(server)
    await page.goto(f"{server.url}/d/{id}")
    texts = {}
    for words, ending in (("Markdown", "md"), ("JSON", "json"), ("web page", "html")):
        await page.get_by_role("button", name="Share").click()
        async with page.expect_download() as download:
            await page.get_by_role("menuitem", name=f"Download as {words}").click()
        file = await download.value
        assert file.suggested_filename.endswith(f".{ending}")
        await file.save_as(tmp_path / f"split.{ending}")
        texts[ending] = (tmp_path / f"split.{ending}").read_text("utf-8")

    assert json.loads(texts["json"])["discussion"]["id"] == id
    transcript = {one["id"]: one for one in json.loads(texts["json"])["messages"]}
    assert [transcript[one["id"]]["content"] for one in messages] == [one["content"] for one in messages]
    assert all(one["content"] in texts["md"] for one in messages)
    (other,) = json.loads(texts["json"])["versions"]
    assert (other["id"], other["content"]) == (earlier["id"], earlier["content"])
    assert f"> **Version 1 of 2, {earlier['model']}**" in texts["md"]

    address = (tmp_path / "split.html").as_uri()
    page_errors.allow(f"^request to another host: {re.escape(address)}$")  # and nothing else
    await page.goto("about:blank")  # Moot's own page would try to connect while it is offline
    await page.context.set_offline(True)
    await page.goto(address)
    shown = page.locator("main")
    for one in messages:
        answer = page.locator(f"[id='{one['id']}']")
        await expect(answer).to_be_visible()
        await expect(answer.locator(".words")).to_have_count(1 if one["content"] else 0)
        await expect(answer).to_contain_text(one["content"].replace("*", "")[:80])
    before = page.locator("details", has_text="Version 1 of 2")
    await before.locator("summary").click()
    await expect(before).to_contain_text(earlier["content"].replace("*", "")[:80])
    for text in (*texts.values(), await shown.inner_text()):
        assert "scripted/undecided" in text
        assert "Key rejected" in text
        assert "The cost of a split must be measured." in text  # minutes
        assert "one team waits for the other's release" in text  # a claim's quote
    await assert_accessible(page)
    await page.emulate_media(color_scheme="dark")
    await page.set_viewport_size({"width": 390, "height": 844})
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390
    await assert_accessible(page)
    await page.context.set_offline(False)


FOCUS_AT_ONCE = """async () => {
    const menu = document.querySelector("header [role=menu]");
    const toggled = new Promise((done) => menu.addEventListener("toggle", () => setTimeout(done), { once: true }));
    const items = [...menu.querySelectorAll("[role=menuitem]")];
    menu.showPopover();
    const isFirst = document.activeElement === items[0];
    items.at(-1).focus();
    await toggled;
    return [isFirst, document.activeElement === items.at(-1)];
}"""


async def test_menu_keeps_the_focus_that_the_user_moved_while_it_opened(server: MootServer, page: Page) -> None:
    id = await open_titled_discussion(server, "Round or square?", participants=["scripted/echo"])
    await page.goto(f"{server.url}/d/{id}")
    await expect(page.get_by_role("button", name="Share")).to_be_visible()
    assert await page.evaluate(FOCUS_AT_ONCE) == [True, True]
