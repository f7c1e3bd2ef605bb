"""Evaluations of an answer: judged, improved, applied and undone; and errors in the form."""

import re

from playwright.async_api import Locator, Page, expect

from tests.page.axe import assert_accessible
from tests.page.phone import assert_fits_phone
from tests.support.moot_server import MootServer


async def open_answered_discussion(server: MootServer) -> str:
    body = {
        "message": "Why is a table round?",
        "participants": ["scripted/scholar"],
        "task_model": "scripted/task-model",
    }
    reply = await server.post("/api/discussions", body)
    assert reply.status == 201, reply
    await server.run_events(reply.body["run"]["id"])
    return str(reply.body["discussion"]["id"])


async def open_assertions_dialog(page: Page) -> Locator:
    await page.get_by_role("article").hover()
    await page.get_by_role("button", name="More about this answer").click()
    await page.get_by_role("menuitem", name="Check this answer").click()
    return page.get_by_role("dialog", name=re.compile("^Check .* answer"))


async def test_answer_is_evaluated_improved_accepted_and_undone(server: MootServer, page: Page) -> None:
    id = await open_answered_discussion(server)
    await page.goto(f"{server.url}/d/{id}")
    evaluation = await open_assertions_dialog(page)
    await expect(evaluation.get_by_role("button", name="Check")).to_be_disabled()
    await evaluation.get_by_label("Assertions, one per line").fill("\n".join(f"It is {n}." for n in range(21)))
    await expect(evaluation.get_by_role("alert")).to_have_text("Too many assertions: 21. The maximum is 20.")
    await expect(evaluation.get_by_role("button", name="Check")).to_be_disabled()
    await evaluation.get_by_label("Assertions, one per line").fill("It gives a reason.\n\nIt names a source.")
    await evaluation.get_by_role("button", name="Check").click()
    verdicts = evaluation.get_by_role("region", name="Verdicts")
    await expect(verdicts.get_by_role("heading")).to_have_text("1 of 2 pass")
    await expect(verdicts).to_contain_text("It names nobody who says so.")
    await expect(verdicts).to_contain_text("judged by scripted/task-model scripted")
    await expect(page.locator("article").get_by_text("scripted", exact=True)).to_have_count(1)

    await evaluation.get_by_role("button", name="Improve Alpha").click()
    improvement = evaluation.get_by_role("region", name="Improvement")
    await expect(improvement.get_by_role("list", name="Rounds")).to_contain_text("2 of 2")
    await expect(improvement.get_by_role("list", name="Rounds")).to_contain_text("best")
    await expect(improvement.get_by_role("insertion")).to_have_text("You name your source.")
    await expect(improvement).to_contain_text("Because nobody sits at its head, says Vitruvius.")
    await improvement.get_by_role("button", name="Apply").click()
    await expect(improvement).to_contain_text("Alpha uses a new persona of yours from now on.")
    await assert_accessible(page, within=evaluation)
    await page.keyboard.press("Escape")
    await expect(evaluation).to_have_count(0)
    assert (await server.get(f"/api/discussions/{id}")).body["discussion"]["participants"][0]["persona"]

    evaluation = await open_assertions_dialog(page)
    await expect(evaluation.get_by_label("Assertions, one per line")).to_have_value(
        "It gives a reason.\nIt names a source."
    )
    await evaluation.get_by_label("Assertions, one per line").fill("")
    await expect(evaluation.get_by_label("Assertions, one per line")).to_have_value("")
    await evaluation.get_by_role("button", name="Undo").click()
    await expect(evaluation.get_by_role("button", name="Apply")).to_be_visible()
    await assert_fits_phone(page)
    assert not (await server.get(f"/api/discussions/{id}")).body["discussion"]["participants"][0].get("persona")
