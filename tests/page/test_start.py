"""The start page: from a first visit without a key to participants that are set up by hand, saved and changed."""

import asyncio
import re
from typing import Any

import pytest
from playwright.async_api import Page, Route, ViewportSize, expect

from tests.page.axe import assert_accessible
from tests.page.page_errors import PageErrors
from tests.page.timeouts import KEEP_TOASTS_JS
from tests.support.moot_server import MootServer

LONG_MILLISECONDS = 30_000  # no toast stays that long by itself
OUTSIDE_DIALOG = (5, 400)
SIZES: tuple[ViewportSize, ...] = ({"width": 1280, "height": 800}, {"width": 390, "height": 844})
# Which participants read which others, in the drawing of each mode.
MODE_DRAWINGS_JS = """(drawings) => drawings.map((one) =>
    [...one.querySelectorAll("path.read")].map((line) => line.getAttribute("d")).join())"""
DROP_AND_PASTE_JS = """() => {
    const field = document.querySelector("main textarea");
    const carried = (name) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File(["Square."], name));
        return transfer;
    };
    const how = { bubbles: true, cancelable: true };
    field.dispatchEvent(new DragEvent("drop", { ...how, dataTransfer: carried("dropped.txt") }));
    field.dispatchEvent(new ClipboardEvent("paste", { ...how, clipboardData: carried("pasted.txt") }));
}"""


async def current_discussion(server: MootServer, page: Page) -> Any:
    """Return the discussion that the page has gone to."""
    await page.wait_for_url(re.compile(r"/d/dis_"))
    return (await server.get(f"/api/discussions/{page.url.rsplit('/', 1)[1]}")).body


async def test_first_visit_offers_free_participants_when_there_is_no_key(
    server: MootServer, page: Page, page_errors: PageErrors
) -> None:
    page_errors.allow("ERR_")  # the question is not let through, so that no model has to answer
    await page.goto(server.url)
    await expect(page.get_by_label("Your question")).to_be_focused()
    await expect(page.get_by_text("Ready now, without any key")).to_be_visible()
    await expect(page.get_by_role("button", name="Edit Scientist local/smollm2")).to_be_visible()
    drawings = page.get_by_role("group", name="Mode").locator("label svg")
    assert len(set(await drawings.evaluate_all(MODE_DRAWINGS_JS))) == await page.get_by_role("radio").count() == 6
    await assert_accessible(page)
    await page.get_by_role("button", name="Explain to a cook why the sky is blue.").click()
    await expect(page.get_by_label("Your question")).to_have_value("Explain to a cook why the sky is blue.")
    await expect(page.get_by_role("button", name="Costs nothing, 2 calls")).to_be_visible()

    await page.route("**/api/discussions", lambda route: route.abort())
    async with page.expect_request(
        lambda one: (one.method, one.url) == ("POST", f"{server.url}/api/discussions")
    ) as asked:
        await page.get_by_label("Your question").press("Enter")
    sent: Any = (await asked.value).post_data_json
    assert sent["message"] == "Explain to a cook why the sky is blue."
    assert [one["persona"] for one in sent["participants"]] == ["shipped_scientist", "shipped_advocate"]
    await expect(page.get_by_role("alert")).to_contain_text("Cannot reach the server")


@pytest.mark.slow  # the embedded model computes its answers
async def test_first_visit_without_key_gets_answer_from_local_model(server: MootServer, page: Page) -> None:
    await page.goto(server.url)
    await page.get_by_role("button", name="Explain to a cook why the sky is blue.").click()
    await expect(page.get_by_role("button", name="Costs nothing, 2 calls")).to_be_visible()
    await page.keyboard.press("Enter")
    cards = page.get_by_role("article")
    await expect(cards).to_have_count(2)
    await expect(cards.first).to_contain_text(re.compile(r"local/smollm2\s.*[a-z]+ [a-z]+ [a-z]+", re.DOTALL))
    asked = await current_discussion(server, page)
    assert [one["persona"] for one in asked["discussion"]["participants"]] == [
        "shipped_scientist",
        "shipped_advocate",
    ]


async def test_new_discussion_is_set_up_by_hand_and_errors_are_shown_in_place(
    server: MootServer, page: Page, page_errors: PageErrors
) -> None:
    page_errors.allow("status of 400")  # mistakes are made on purpose
    await page.add_init_script(KEEP_TOASTS_JS)
    await page.goto(server.url)
    question, participants = (
        page.get_by_label("Your question"),
        page.get_by_role("region", name="Participants"),
    )
    await expect(participants.get_by_role("button", name=re.compile("^Edit"))).to_have_count(2)
    await page.get_by_role("button", name="Debate a question").click()
    await expect(participants.get_by_role("button", name=re.compile("^Edit"))).to_have_count(3)
    await expect(page.get_by_role("radio", name="Debate")).to_be_checked()
    await expect(page.get_by_text("Debate a question: 3 participants, debate.")).to_be_visible()
    await expect(question).to_have_value("Rewrite a ten-year-old program, or mend it?")
    await expect(page.get_by_role("button", name=re.compile(r"Costs nothing, \d\d calls"))).to_be_visible()
    await page.get_by_role("button", name="Undo").click()
    await expect(question).to_have_value("")

    await question.press("Enter")
    await page.get_by_role("button", name="Send").click()
    await expect(page.get_by_text("Write a question first.")).to_be_visible()
    await question.fill("Round or square?")
    await participants.get_by_role("button", name="Remove Advocate").click()
    ways = page.get_by_role("group", name="Mode")
    await page.locator("label").filter(has=page.get_by_role("radio", name="Debate")).click()
    await expect(ways.get_by_role("status")).to_have_text(
        "Debate needs at least two participants. Add one, or choose another mode."
    )
    await expect(page.get_by_role("radio", name="Debate")).to_be_checked()
    await question.press("Enter")
    await expect(participants.get_by_role("alert")).to_contain_text("Debate needs at least two participants.")

    await participants.get_by_role("button", name="Add participant").click()
    await page.get_by_role("combobox", name="Model", exact=True).fill("nobody/none")
    await expect(page.get_by_text("No provider here is called nobody. Choose one of").first).to_be_visible()
    await page.get_by_role("button", name="Add", exact=True).click()
    await question.press("Control+Enter")
    await expect(participants.get_by_role("alert")).to_contain_text("Participant 2: Unknown model 'nobody/none'")

    await participants.get_by_role("button", name="Edit Alpha nobody/none").click()
    model = page.get_by_role("combobox", name="Model", exact=True)
    await model.fill("echo")
    await model.press("ArrowDown")
    await assert_accessible(page, within=page.get_by_role("dialog"))
    await model.press("Enter")
    await expect(model).to_have_value("scripted/echo")
    await page.get_by_label("Persona").select_option("Sceptic")
    await page.get_by_role("textbox", name="Name").fill("Ida")
    await page.get_by_role("radio", name="Violet").check()
    await page.get_by_text("Advanced").click()
    await page.get_by_label("Temperature").fill("0.5")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(participants.get_by_role("listitem").filter(has_text="Ida")).to_contain_text("scripted")
    await participants.get_by_role("button", name="Edit Scientist").click()
    await page.get_by_role("combobox", name="Model", exact=True).fill("scripted/steady")
    await page.get_by_role("button", name="Save", exact=True).click()

    await page.locator("summary").filter(has_text="Options").click()
    await page.get_by_label("Who writes the synthesis").select_option("Ida")
    await page.get_by_label("Continue after a number of answers").fill("9")
    await question.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("Only 2 take part")
    await page.get_by_label("Continue after a number of answers").fill("2")
    await page.get_by_label("Participants rank").uncheck()
    await page.get_by_role("button", name="Costs nothing").click()
    await page.get_by_label("Spending limit").fill("0.5")
    await page.keyboard.press("Escape")
    await page.locator("input[type=file]").set_input_files({"name": "notes.txt", "mimeType": "", "buffer": b"Round."})
    await expect(page.get_by_role("list", name="Files")).to_contain_text("notes.txt")
    await page.locator("input[type=file]").set_input_files({"name": "x.bin", "mimeType": "", "buffer": b"\0\1\2"})
    await expect(page.get_by_role("alert")).to_contain_text("x.bin")

    await page.evaluate(DROP_AND_PASTE_JS)
    for name in ("dropped.txt", "pasted.txt"):
        await expect(page.get_by_role("list", name="Files")).to_contain_text(name)
        await page.get_by_role("button", name=f"Remove {name}").click()

    await expect(page.get_by_role("progressbar")).to_have_count(0)
    await page.reload()
    await expect(question).to_have_value("Round or square?")
    await expect(page.get_by_role("list", name="Files")).to_contain_text("notes.txt")
    await question.press("Control+Enter")
    discussion = (await current_discussion(server, page))["discussion"]
    assert discussion["mode"] == "debate"
    assert discussion["debate"] == {"lead": "ida", "quorum": 2, "ranking": False}
    assert [one["model"] for one in discussion["participants"]] == ["scripted/steady", "scripted/echo"]
    ida = discussion["participants"][1]
    assert (ida["name"], ida["persona"], ida["colour"], ida["temperature"]) == (
        "Ida",
        "shipped_sceptic",
        "#6a5acd",
        0.5,
    )
    await expect(page.get_by_role("article", name="Ida").first).to_have_css("border-top-color", "rgb(106, 90, 205)")

    await page.get_by_role("link", name="New discussion").click()
    await expect(question).to_have_value("")
    await expect(participants.get_by_role("button", name="Edit Ida")).to_be_visible()


async def test_undo_keeps_later_changes(server: MootServer, page: Page) -> None:
    await page.clock.install()
    await page.goto(server.url)
    question = page.get_by_label("Your question")
    participants = page.get_by_role("region", name="Participants")
    undo = page.get_by_role("button", name="Undo")
    await expect(participants.get_by_role("button", name=re.compile("^Edit"))).to_have_count(2)
    await page.get_by_role("button", name="Debate a question").click()
    await question.fill("Round or square?")
    await undo.click()
    await expect(participants.get_by_role("button", name=re.compile("^Edit"))).to_have_count(2)
    await expect(question).to_have_value("Round or square?")

    await participants.get_by_role("button", name="Remove Scientist").press("Enter")
    await expect(participants.get_by_role("button", name="Remove Advocate")).to_be_focused()
    await page.locator("label").filter(has=page.get_by_role("radio", name="Debate")).click()
    await undo.hover()
    await page.clock.fast_forward(LONG_MILLISECONDS)
    await undo.click()
    await expect(participants.get_by_role("button", name=re.compile("^Edit")).first).to_contain_text("Scientist")
    await expect(page.get_by_role("radio", name="Debate")).to_be_checked()

    await participants.get_by_role("button", name="Remove Advocate").click()
    await undo.focus()
    await page.clock.fast_forward(LONG_MILLISECONDS)
    await expect(undo).to_be_focused()
    await question.focus()
    await page.clock.fast_forward(LONG_MILLISECONDS)
    await expect(undo).to_have_count(0)


async def test_toast_about_participants_closes_on_navigation(server: MootServer, page: Page) -> None:
    await page.add_init_script(KEEP_TOASTS_JS)
    await page.goto(server.url)
    await page.get_by_role("button", name="Debate a question").click()
    toast = page.get_by_text("Debate a question: 3 participants, debate.")
    await expect(toast).to_be_visible()
    await page.get_by_role("link", name="Usage").click()
    await expect(page.get_by_role("heading", name="Usage", level=1)).to_be_visible()
    await expect(toast).to_have_count(0)


async def test_removing_participant_reports_that_default_names_change(server: MootServer, page: Page) -> None:
    await page.add_init_script(KEEP_TOASTS_JS)
    await page.goto(server.url)
    await page.get_by_role("button", name="Sample debate").click()
    participants = page.get_by_role("region", name="Participants")
    await participants.get_by_role("button", name="Remove Alpha").click()
    await expect(page.get_by_text("Alpha was removed; the others were renamed.")).to_be_visible()
    await participants.get_by_role("button", name="Remove Beta").click()
    await expect(page.get_by_text("Beta was removed.", exact=True)).to_be_visible()


async def test_text_selection_outside_dialog_does_not_close_it(server: MootServer, page: Page) -> None:
    await page.goto(server.url)
    await page.get_by_role("button", name="Add participant").click()
    sheet = page.get_by_role("dialog")
    name = sheet.get_by_role("textbox", name="Name")
    await name.fill("Ida")
    await name.hover()
    await page.mouse.down()
    await page.mouse.move(*OUTSIDE_DIALOG)
    await page.mouse.up()
    await expect(name).to_have_value("Ida")
    await page.mouse.click(*OUTSIDE_DIALOG)
    await expect(sheet).to_have_count(0)


async def test_layout_does_not_shift_when_models_load_late(server: MootServer, page: Page) -> None:
    found = asyncio.Event()

    async def delay_models(route: Route) -> None:
        await found.wait()
        await route.continue_()

    await page.route("**/api/models", delay_models)
    for size in SIZES:
        found.clear()
        await page.set_viewport_size(size)
        await page.goto(server.url)
        question = page.get_by_label("Your question")
        await expect(page.get_by_text("Looking for models that can answer")).to_be_visible()
        await expect(page.get_by_role("heading", name="Start from a preset")).to_have_count(0)
        before = await question.bounding_box()
        found.set()
        await expect(page.get_by_text("Ready now, without any key")).to_be_visible()
        await expect(page.get_by_role("button", name="Edit Scientist")).to_be_visible()
        await expect(page.get_by_text("Looking for models that can answer")).to_have_count(0)
        after = await question.bounding_box()
        assert before is not None
        assert after is not None
        for side in ("x", "y", "width", "height"):
            assert abs(before[side] - after[side]) <= 2, (side, before, after)


async def test_personas_projects_and_presets_beyond_the_first_page_are_selectable(
    server: MootServer, page: Page
) -> None:
    many = range(105)
    preset = {"participants": ["scripted/echo"]}
    for first in many:  # the oldest come last, on the second page
        await server.post("/api/personas", {"name": f"Persona {first}", "description": "One of many."})
        await server.post("/api/projects", {"name": f"Project {first}"})
        await server.post("/api/presets", {"name": f"Preset {first}", **preset})
    await page.goto(server.url)
    await expect(page.get_by_role("button", name="Preset 104", exact=True)).to_be_visible()
    oldest = page.get_by_role("button", name="Preset 0", exact=True)
    await expect(oldest).to_have_count(0)
    await page.get_by_role("button", name="Show all 105 presets").click()
    await oldest.click()
    await page.get_by_role("button", name="Show fewer").click()
    await page.get_by_role("button", name="Edit Alpha scripted/echo").click()
    await page.get_by_label("Persona").select_option("Persona 0")
    await page.get_by_role("button", name="Save", exact=True).click()
    await page.locator("summary").filter(has_text="Options").click()
    await page.get_by_label("Project").select_option("Project 0")
    await page.get_by_label("Your question").fill("Who are you?")
    await page.keyboard.press("Control+Enter")
    discussion = (await current_discussion(server, page))["discussion"]
    persona = discussion["participants"][0]["persona"]
    assert (await server.get(f"/api/personas/{persona}")).body["name"] == "Persona 0"
    assert (await server.get(f"/api/projects/{discussion['project']}")).body["name"] == "Project 0"


async def test_preset_with_same_name_is_replaced_after_confirmation_and_restored_by_undo(
    server: MootServer, page: Page
) -> None:
    preset = {"name": "Mine", "mode": "parallel", "participants": ["scripted/echo", "scripted/steady"]}
    assert (await server.post("/api/presets", preset)).status == 201
    assert (await server.post("/api/presets", {**preset, "name": "Yours"})).status == 201
    await page.add_init_script(KEEP_TOASTS_JS)
    await page.goto(server.url)
    await page.get_by_role("button", name="Sample debate").click()
    await page.get_by_role("button", name="Save as preset").click()
    dialog = page.get_by_role("dialog", name="Save preset")
    await dialog.get_by_role("textbox", name="Name").fill("mine")
    await expect(dialog.get_by_text("Mine already exists.")).to_be_visible()
    await expect(dialog.get_by_role("button", name="Save", exact=True)).to_have_count(0)
    await assert_accessible(page, within=dialog)
    await dialog.get_by_role("button", name="Replace Mine").click()
    toast = page.get_by_text("Mine was replaced.")
    await expect(toast).to_be_visible()
    assert await _preset_modes(server) == {"Mine": "debate", "Yours": "parallel"}
    await toast.locator("..").get_by_role("button", name="Undo").click()
    await expect(page.get_by_text("Mine was restored.")).to_be_visible()
    assert await _preset_modes(server) == {"Mine": "parallel", "Yours": "parallel"}

    await page.get_by_role("button", name="More about Yours").click()
    await page.get_by_role("menuitem", name="Rename").click()
    dialog = page.get_by_role("dialog", name="Rename preset")
    await dialog.get_by_role("textbox", name="Name").fill("Mine")
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("Another preset is called Mine")


async def _preset_modes(server: MootServer) -> dict[str, str]:
    return {one["name"]: one["mode"] for one in (await server.get("/api/presets")).body["presets"]}


async def test_presets_are_saved_applied_renamed_and_deleted(server: MootServer, page: Page) -> None:
    await page.add_init_script(KEEP_TOASTS_JS)
    await page.goto(server.url)
    participants = page.get_by_role("region", name="Participants")
    await page.get_by_role("button", name="Sample debate").click()
    await expect(participants.get_by_text("scripted", exact=True)).to_have_count(3)
    await page.get_by_role("button", name="Save as preset").click()
    await page.get_by_role("dialog").get_by_role("textbox", name="Name").fill("Mine")
    twice = "(form) => [form, form].forEach((one) => one.requestSubmit())"
    await page.get_by_role("dialog").locator("form").evaluate(twice)
    mine = page.get_by_role("button", name="Mine", exact=True)
    await expect(mine).to_be_visible()

    await page.get_by_role("button", name="Compare answers").click()
    await expect(page.get_by_role("radio", name="Side by side")).to_be_checked()
    await mine.click()
    await expect(page.get_by_role("radio", name="Debate")).to_be_checked()
    await expect(participants.get_by_role("button", name="Edit Alpha scripted/advocate")).to_be_visible()

    await page.get_by_role("button", name="More about Mine").click()
    await page.get_by_role("menuitem", name="Rename").click()
    await page.get_by_role("dialog").get_by_role("textbox", name="Name").fill("Ours")
    await page.get_by_role("dialog").get_by_role("button", name="Save").click()
    await page.get_by_role("button", name="More about Ours").click()
    await page.get_by_role("menuitem", name="Delete").click()
    await expect(page.get_by_role("button", name="Ours", exact=True)).to_have_count(0)
    await page.get_by_text("Ours was deleted.").locator("..").get_by_role("button", name="Undo").click()
    await expect(page.get_by_role("button", name="Ours", exact=True)).to_be_visible()
    (preset,) = (await server.get("/api/presets")).body["presets"]
    assert (preset["name"], preset["mode"], len(preset["participants"])) == ("Ours", "debate", 3)


async def test_discussion_settings_change_between_messages(server: MootServer, page: Page) -> None:
    project = (await server.post("/api/projects", {"name": "Furniture", "description": "Tables."})).body["id"]
    body = {"message": "Round?", "participants": ["scripted/echo"], "title": "Tables"}
    id = (await server.post("/api/discussions", body)).body["discussion"]["id"]
    await page.goto(f"{server.url}/d/{id}")
    await page.get_by_role("button", name="Settings of this discussion").click()
    settings = page.get_by_role("dialog", name="Settings of this discussion")
    await settings.locator("label").filter(has=page.get_by_role("radio", name="Consensus")).click()
    await expect(settings.get_by_role("radio", name="Consensus")).to_be_checked()
    await settings.get_by_role("button", name="Save").click()
    await expect(settings.get_by_role("alert")).to_contain_text("Consensus needs at least two participants")
    await settings.get_by_role("button", name="Add participant").click()
    dialog = page.get_by_role("dialog", name="Add participant")
    await dialog.get_by_role("combobox", name="Model", exact=True).fill("scripted/steady")
    await dialog.get_by_role("button", name="Add", exact=True).click()
    await settings.get_by_label("Rounds").fill("3")
    await settings.get_by_label("Project").select_option("Furniture")
    await settings.get_by_label("Language of the answers").select_option("German")
    await settings.get_by_role("combobox", name="One model for all").fill("scripted/thinker")
    await settings.get_by_role("combobox", name="Task model").fill("scripted/task-model")
    await assert_accessible(page, within=settings)
    await settings.get_by_role("button", name="Save").click()
    await expect(settings).to_have_count(0)
    await expect(page.locator("header").get_by_text("Beta")).to_be_visible()
    discussion = (await server.get(f"/api/discussions/{id}")).body["discussion"]
    wanted = {"mode": "consensus", "rounds": 3, "project": project, "language": "de"}
    assert {name: discussion[name] for name in wanted} == wanted
    assert (discussion["model"], discussion["task_model"]) == ("scripted/thinker", "scripted/task-model")
    assert [one["name"] for one in discussion["participants"]] == ["Alpha", "Beta"]


async def test_new_discussion_fits_dark_phone(server: MootServer, page: Page) -> None:
    await page.emulate_media(color_scheme="dark")
    await page.set_viewport_size({"width": 390, "height": 844})
    await page.goto(server.url)
    await page.get_by_role("button", name="Ask my advisors").click()
    await expect(page.get_by_role("button", name="Suggest personas")).to_be_visible()
    await page.get_by_role("button", name="Teach me").click()
    await page.locator("summary").filter(has_text="Options").click()
    await expect(page.get_by_label("Turns before your next message")).to_have_value("10")
    assert await page.evaluate("document.querySelector('main').scrollWidth") <= 390
    await assert_accessible(page)
