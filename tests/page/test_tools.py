"""Tools on the page: which participant has which tools, their calls, and approvals."""

import json
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, Request, expect

from tests.page.axe import assert_accessible
from tests.page.contexts import BrowserContexts
from tests.page.page_errors import PageErrors
from tests.page.phone import open_phone_page
from tests.page.shared_server import SharedServer, log_in_new_account, run_shared_server
from tests.support.moot_server import MootServer
from tests.support.tool_servers import TOOL_SERVER_COMMAND

SETTINGS = f'\n[tools.notes]\ncommand = {json.dumps(TOOL_SERVER_COMMAND)}\nenv = ["NOTES"]\n'
SLOW_MILLISECONDS = 120_000  # a server has 45 seconds to answer, and so has the one that looks its name up
SCRIPTS = """
[writer]
answer = "I keep **that**."
answer_after_tool = "I was told: {result}"
tool = { name = "notes__write_down", arguments = '{"text": "<b>Round.</b>"}' }
"""
ECHO = {"name": "Echo", "model": "scripted/echo"}
WRITER = {"name": "Writer", "model": "scripted/writer", "tools": ["notes"]}


@pytest.fixture(scope="module")
def notes_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("writers")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shared_writer_server(notes_folder: Path) -> AsyncIterator[SharedServer]:
    """Serve a scripted model that calls a tool with effects."""
    notes = str(notes_folder / "notes.txt")
    async with run_shared_server(notes_folder, settings=SETTINGS, scripts=SCRIPTS, NOTES=notes) as shared:
        yield shared


@pytest.fixture
def notes_file(notes_folder: Path) -> Path:
    """Return the file of the notes, which is empty."""
    file = notes_folder / "notes.txt"
    file.unlink(missing_ok=True)
    return file


def read_notes(notes_file: Path) -> str:
    return notes_file.read_text("utf-8") if notes_file.exists() else ""


@pytest_asyncio.fixture(loop_scope="session")
async def writer_server(shared_writer_server: SharedServer, page: Page, notes_file: Path) -> AsyncIterator[MootServer]:
    """Log in a new account on that server, with empty notes."""
    async with log_in_new_account(shared_writer_server, page) as server:
        yield server


def writer_card(page: Page) -> Locator:
    return page.get_by_role("article", name="Writer").last


async def open_discussion_page(
    server: MootServer, page: Page, *participants: Mapping[str, object], **more: object
) -> None:
    body = {"message": "Keep this.", "participants": participants, "title": "Notes", **more}
    id = (await server.post("/api/discussions", body)).body["discussion"]["id"]
    await page.goto(f"{server.url}/d/{id}")


async def test_participant_calls_tool_after_approval(writer_server: MootServer, page: Page, notes_file: Path) -> None:
    await open_discussion_page(writer_server, page, {"name": "Writer", "model": "scripted/echo"})
    await expect(writer_card(page)).to_contain_text("Keep this.")
    await page.get_by_role("button", name="Settings of this discussion").click()
    settings = page.get_by_role("dialog", name="Settings of this discussion")
    await settings.get_by_role("button", name="Edit Writer").click()
    dialog = page.get_by_role("dialog", name="Edit participant")
    await dialog.get_by_role("combobox", name="Model", exact=True).fill("scripted/writer")
    requests: list[Request] = []
    page.on("request", lambda one: requests.append(one) if one.url.endswith("/api/tools") else None)
    await dialog.get_by_text("Tools", exact=True).click()
    tools = dialog.get_by_role("group", name="notes")
    await tools.get_by_label("write_down (has effects, needs approval)").check()
    await assert_accessible(page, within=dialog)
    assert len(requests) == 1  # each request asks every tool server
    await dialog.get_by_role("button", name="Save").click()
    await expect(settings.get_by_role("button", name="Edit Writer")).to_contain_text("has tools")
    await settings.get_by_role("button", name="Save").click()
    await expect(settings).to_be_hidden()
    await page.get_by_placeholder("Message everyone").fill("And this.")
    await page.get_by_placeholder("Message everyone").press("Enter")

    question = writer_card(page).get_by_role("region", name="May Writer call notes/write_down?")
    await expect(question).to_contain_text('"text": "<b>Round.</b>"')
    await expect(question).to_contain_text("min left")
    await expect(page.get_by_role("status").filter(has_text="Writer needs approval to call")).to_be_attached()
    await expect(page.get_by_role("img", name="waits for your answer")).to_be_visible()
    await assert_accessible(page, within=question)
    assert not read_notes(notes_file)

    await page.reload()
    await question.get_by_role("button", name="Approve", exact=True).press("Enter")
    await expect(question).to_be_hidden()
    await expect(writer_card(page)).to_contain_text("I was told: Written.")
    for _ in range(2):
        call = writer_card(page).locator("summary", has_text="notes/write_down")
        await expect(call).to_have_text(re.compile(r"notes/write_down\s+done in \d+\.\d s"))
        await call.press("Enter")
        await expect(writer_card(page).get_by_role("group", name="Result of notes/write_down")).to_have_text("Written.")
        given = writer_card(page).get_by_role("group", name="Arguments of notes/write_down")
        await expect(given).to_contain_text("<b>Round.</b>")
        await page.reload()
    assert read_notes(notes_file) == "<b>Round.</b>\n"
    await writer_card(page).get_by_role("button", name="More about this answer").click()
    await page.get_by_role("menuitem", name="View prompt").click()
    seen = page.get_by_role("dialog", name="Prompt for Writer")
    await expect(seen).to_contain_text("plus tool definitions: notes/write_down.")
    await expect(seen.locator("section", has_text="Tool call")).to_contain_text("<b>Round.</b>")
    await expect(seen.locator("section", has_text="Tool result")).to_contain_text("Written.")


async def test_rejected_tool_call_is_not_executed(writer_server: MootServer, page: Page, notes_file: Path) -> None:
    await open_discussion_page(writer_server, page, WRITER)
    await writer_card(page).get_by_role("button", name="Deny").click()
    await expect(writer_card(page)).to_contain_text("I was told: The person refused this call.")
    await expect(writer_card(page).locator("summary", has_text="notes/write_down")).to_contain_text("denied")
    await expect(page.get_by_role("img", name="waits for your answer")).to_have_count(0)
    assert not read_notes(notes_file)


async def test_approval_for_discussion_is_not_requested_again(
    writer_server: MootServer, page: Page, notes_file: Path
) -> None:
    await open_discussion_page(writer_server, page, WRITER)
    await writer_card(page).get_by_role("button", name="Approve in this discussion").click()
    await expect(writer_card(page)).to_contain_text("I was told: Written.")
    await page.get_by_placeholder("Message everyone").fill("And this.")
    await page.get_by_placeholder("Message everyone").press("Enter")
    await expect(page.get_by_role("article", name="Writer")).to_have_count(2)
    await expect(writer_card(page)).to_contain_text("I was told: Written.")
    assert read_notes(notes_file) == "<b>Round.</b>\n" * 2


async def test_discussion_list_marks_pending_approvals(writer_server: MootServer, page: Page) -> None:
    elsewhere = {"message": "And here?", "participants": [WRITER], "title": "Elsewhere"}
    await writer_server.post("/api/discussions", elsewhere)
    await open_discussion_page(writer_server, page, ECHO)
    discussion_list = page.get_by_role("navigation", name="Discussions")
    waits = discussion_list.get_by_role("link", name="Elsewhere").get_by_role("img", name="waits for your answer")
    await expect(waits).to_be_visible()
    await page.reload()
    await expect(waits).to_be_visible()
    await expect(discussion_list.get_by_role("img")).to_have_count(1)
    await discussion_list.get_by_role("link", name="Elsewhere").click()
    await writer_card(page).get_by_role("button", name="Deny").click()
    await expect(waits).to_have_count(0)


async def test_pending_approval_out_of_view_is_marked_on_tab_and_phone_dot(
    writer_server: MootServer, page: Page, contexts: BrowserContexts
) -> None:
    await open_discussion_page(
        writer_server,
        page,
        ECHO,
        WRITER,
    )
    await page.get_by_role("button", name="Tabs").click()
    waits = page.get_by_role("tab", name="Writer waits for your answer")
    await expect(waits).to_be_visible()
    await expect(page.get_by_role("tab", name="Echo", exact=True)).to_have_attribute("aria-selected", "true")

    async with open_phone_page(contexts, page) as small:
        await small.goto(page.url)
        dots = small.get_by_role("group", name="Answers")
        await expect(writer_card(small)).not_to_be_in_viewport(ratio=0.5)
        dot = dots.get_by_role("button", name="Writer waits for your answer")
        question = writer_card(small).get_by_role("region", name="May Writer call notes/write_down?")
        warn = await question.evaluate("(one) => getComputedStyle(one).borderTopColor")
        await expect(dot.locator(".dot")).to_have_css("border-top-color", warn)
        await dot.tap()
        await writer_card(small).get_by_role("button", name="Deny").tap()
        await expect(dots.get_by_role("button", name="Writer", exact=True)).to_be_visible()
        await small.goto("about:blank")
    await expect(page.get_by_role("tab", name="Writer", exact=True)).to_be_visible()


async def test_approval_in_debate_is_shown_once_and_marked_on_its_lane(writer_server: MootServer, page: Page) -> None:
    await open_discussion_page(writer_server, page, ECHO, WRITER, mode="debate")
    question = page.get_by_role("region", name="May Writer call notes/write_down?")
    await expect(question).to_have_count(1)
    thread = page.get_by_role("list", name="Threads of the participants").get_by_role("button", name="Writer")
    await expect(thread).to_have_text(re.compile(r"Writer\s+waits for your answer"))
    await question.get_by_role("button", name="Approve in this discussion").press("Enter")
    await expect(question).to_have_count(0)
    first = page.get_by_role("article", name="Writer").first
    await expect(first.locator("summary", has_text="notes/write_down")).to_be_focused()
    await expect(thread).to_contain_text("answered")


async def test_user_tool_server_is_added_and_removed(
    writer_server: MootServer, page: Page, page_errors: PageErrors
) -> None:
    page_errors.allow("status of 400")
    await page.goto(f"{writer_server.url}/models")
    servers = page.get_by_role("region", name="Tool servers")
    await expect(servers.get_by_role("listitem").filter(has_text="notes")).to_contain_text("7 tools")
    await servers.get_by_role("button", name="Add a tool server").click()
    await servers.get_by_label("Name").fill("mine")
    await servers.get_by_role("textbox", name="Address", exact=True).fill("https://127.0.0.1:9/mcp")
    await servers.get_by_label("Headers").fill("Authorization: Bearer secret")
    await assert_accessible(page, within=servers)
    await servers.get_by_role("button", name="Save").click()
    await expect(servers.get_by_role("alert")).to_contain_text("it leads into a private network")
    await servers.get_by_role("textbox", name="Address", exact=True).fill("https://tools.invalid/mcp")
    await servers.get_by_role("button", name="Save").click()
    mine = servers.get_by_role("listitem").filter(has_text="https://tools.invalid/mcp")
    await expect(mine).to_contain_text("Not available:", timeout=SLOW_MILLISECONDS)
    await expect(servers).not_to_contain_text("secret")
    await page.set_viewport_size({"width": 390, "height": 844})
    for words in await servers.locator(".state").all():
        box = await words.bounding_box()
        assert box is not None
        assert box["width"] > 200, "the words are broken into letters"
    await mine.get_by_role("button", name="Remove the tool server mine").click()
    await page.get_by_role("button", name="Remove", exact=True).click()
    await expect(mine).to_have_count(0)
