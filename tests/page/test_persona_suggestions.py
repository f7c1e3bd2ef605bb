"""Persona suggestions: a situation, follow-up questions, the suggested personas, and one that is saved."""

import json

from playwright.async_api import Page, expect

from tests.page.axe import assert_accessible
from tests.page.page_errors import PageErrors
from tests.page.phone import assert_fits_phone
from tests.support.moot_server import MootServer


async def test_persona_suggestions_are_proposed_for_a_situation_and_saved_as_persona(
    server: MootServer, page: Page, page_errors: PageErrors
) -> None:
    page_errors.allow("status of 400")  # a model that does not exist, below
    wizard = page.get_by_role("dialog", name="Suggest personas")
    await page.goto(server.url)
    await page.get_by_label("Your question").fill("Shall I move abroad for work?")
    await page.get_by_role("button", name="Suggest personas").click()
    await expect(wizard.get_by_label("Your situation")).to_have_value("Shall I move abroad for work?")
    await page.keyboard.press("Escape")
    await expect(wizard).to_have_count(0)

    await page.goto(f"{server.url}/personas")
    await page.get_by_role("button", name="Suggest personas").click()
    await wizard.get_by_label("Your situation").fill("I may move abroad for work.")
    model = wizard.get_by_role("combobox", name="Model")
    await expect(model).not_to_have_value("")  # the page proposes one: it would come into what is typed
    await model.fill("scripted/nobody")
    await expect(wizard.get_by_text("Not in scripted's list")).to_be_visible()
    await assert_accessible(page, within=wizard)
    await wizard.get_by_role("button", name="Next").click()
    await expect(wizard.get_by_role("alert")).to_contain_text("nobody")
    await model.fill("scripted/task-model")
    await assert_accessible(page, within=wizard)
    await assert_fits_phone(page)
    await wizard.get_by_role("button", name="Next").click()
    await wizard.get_by_label("Who has to agree?").fill("My family.")
    await wizard.get_by_role("button", name="Suggest personas").click()
    await expect(wizard.get_by_role("listitem")).to_have_count(8)
    await expect(wizard.get_by_text("8 personas for your situation.")).to_be_visible()
    penelope = wizard.get_by_role("listitem").filter(has_text="Penelope")
    await expect(penelope).to_contain_text("She knew what waiting costs.")
    await penelope.get_by_role("button", name="Add").click()
    await expect(penelope).to_contain_text("Added")
    await assert_accessible(page, within=wizard)
    await assert_fits_phone(page)
    assert "Penelope" in (await server.get("/api/personas")).text
    await penelope.get_by_role("button", name="Undo").click()
    await expect(penelope.get_by_role("button", name="Add")).to_be_visible()
    assert "Penelope" not in (await server.get("/api/personas")).text
    await wizard.get_by_role("button", name="Done").click()
    await expect(page.get_by_role("button", name="Suggest personas")).to_be_focused()


async def test_persona_suggestion_reports_when_all_participant_slots_are_taken(server: MootServer, page: Page) -> None:
    # A draft as an older page stored it, without tools.
    participants = [{"key": f"participant-{position}", "model": "scripted/echo"} for position in range(24)]
    draft = {"message": "I may move abroad.", "setup": {"mode": "parallel", "participants": participants}}
    # Before the page loads: once loaded, it stores a draft of its own.
    await page.add_init_script(
        f"if (location.origin !== 'null') localStorage.setItem('moot.start', {json.dumps(json.dumps(draft))})"
    )
    await page.goto(server.url)
    await expect(page.get_by_role("button", name="Edit Alpha")).to_be_visible()
    await page.get_by_role("button", name="Suggest personas").click()
    wizard = page.get_by_role("dialog", name="Suggest personas")
    model = wizard.get_by_role("combobox", name="Model")
    await expect(model).not_to_have_value("")
    await model.fill("scripted/task-model")
    await wizard.get_by_role("button", name="Next").click()
    await wizard.get_by_role("button", name="Suggest personas").click()
    await wizard.get_by_role("button", name="Add Penelope as a persona").click()
    await expect(wizard.get_by_text("The limit is 24 participants. Penelope was saved as a persona")).to_be_visible()
