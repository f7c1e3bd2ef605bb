"""A debate on the page: stages and lanes while it runs, its report, and links into it."""

import re
from typing import Any

from playwright.async_api import Locator, Page, expect

from tests.page.axe import assert_accessible
from tests.page.phone import assert_fits_phone
from tests.support.moot_server import MootServer

PHONE_WIDTH, PHONE_HEIGHT = 390, 844
IS_QUOTE_MARKED_JS = """(words) => {
    const [range] = CSS.highlights.get("moot-quote") ?? [];
    return range?.toString() === words;
}"""


async def open_debate(server: MootServer, *scripts: str, **options: object) -> dict[str, Any]:
    body = {
        "message": "Shall we split the service in two?",
        "mode": "debate",
        "participants": [f"scripted/{name}" for name in scripts],
        "debate": options,
    }
    reply = await server.post("/api/discussions", body)
    assert reply.status == 201, reply
    return dict(reply.body)


def lane_button(page: Page, name: str) -> Locator:
    return page.get_by_role("list", name="Threads of the participants").get_by_role("button", name=name)


async def test_failed_lane_is_retried_with_another_model(server: MootServer, page: Page) -> None:
    opened = await open_debate(server, "advocate", "sceptic", "unauthorized", lead="Alpha")
    await page.goto(f"{server.url}/d/{opened['discussion']['id']}")
    stages = page.get_by_role("list", name="Stages of the debate")
    await expect(stages).to_contain_text("1 failed")
    await expect(stages).to_contain_text("Written")

    await lane_button(page, "Gamma failed").click()
    thread = page.get_by_role("dialog", name="Gamma's thread")
    await expect(thread).to_contain_text("Key rejected")
    await assert_accessible(page, within=thread)
    await thread.get_by_role("combobox", name="Another model").fill("scripted/undecided")
    await thread.get_by_role("button", name="Retry with this model").click()
    await expect(thread).to_contain_text("Wait a quarter")
    await expect(thread).to_contain_text("Hidden prompt")
    await expect(thread).to_contain_text("I change my position.")
    await thread.get_by_role("button", name="Close").click()
    await expect(lane_button(page, "Gamma answered")).to_be_focused()

    await _assert_analyses_shown(page)
    await page.reload()
    await _assert_analyses_shown(page)
    await assert_accessible(page)


async def test_missing_claims_are_noted_also_after_reload(server: MootServer, page: Page) -> None:
    opened = await open_debate(server, "echo", "steady")
    await page.goto(f"{server.url}/d/{opened['discussion']['id']}")
    notes = page.get_by_role("list", name="Notes on this debate")
    await expect(notes).to_contain_text("The list of claims of")
    await page.reload()
    await expect(notes).to_contain_text("The list of claims of")


async def _assert_analyses_shown(page: Page) -> None:
    summary = page.get_by_role("region", name="Summary")
    await expect(summary.get_by_role("row", name="Gamma Changed")).to_contain_text("Split one part first.")
    await expect(summary).to_contain_text("The cost of a split must be measured.")
    changes = page.get_by_role("region", name="Position changes")
    await expect(changes).to_contain_text("after Alpha spoke")
    ranking = page.get_by_role("region", name="Ranking")
    await expect(ranking.get_by_role("listitem")).to_have_count(3)
    await ranking.get_by_text("All votes").click()
    await expect(ranking.get_by_role("rowheader", name="Gamma")).to_be_visible()
    claims = page.get_by_role("region", name="Claims").get_by_role("article")
    await expect(claims.filter(has_text="Minority view")).to_contain_text("Without figures")
    synthesis = page.get_by_role("region", name="Synthesis")
    await expect(synthesis.get_by_role("article").first).to_contain_text("Split it, in two steps.")
    await expect(synthesis.get_by_text("Earlier synthesis")).to_be_visible()


async def test_quotes_and_links_open_collapsed_rounds_and_lanes(server: MootServer, page: Page) -> None:
    opened = await open_debate(server, "advocate", "sceptic", "undecided")
    run, address = opened["run"]["id"], f"{server.url}/d/{opened['discussion']['id']}"
    await server.run_events(run)
    report = (await server.get(f"/api/runs/{run}")).body
    await page.goto(address)
    changes = page.get_by_role("region", name="Position changes")
    await expect(page.get_by_role("article", name="Gamma", exact=True)).to_have_count(0)
    await changes.get_by_role("link", name="I change my position").click()
    answer = page.get_by_role("article", name="Gamma", exact=True)
    await expect(answer).to_be_focused()
    await expect(answer).to_be_in_viewport()
    await expect(answer).to_contain_text("I change my position.")
    await page.wait_for_function("() => CSS.highlights.has('moot-quote')")

    reply = await server.get(f"/api/discussions/{opened['discussion']['id']}")
    first = next(one for one in reply.body["messages"] if one["stage"] == "initial")
    await page.goto(f"{address}#{first['id']}")
    await expect(page.locator(f"#{first['id']}")).to_be_in_viewport()

    anchor = next(one["anchors"]["debate"] for one in report["lanes"] if one["participant"] == "beta")
    await page.set_viewport_size({"width": PHONE_WIDTH, "height": PHONE_HEIGHT})
    await page.goto("about:blank")
    await page.goto(f"{address}#{anchor}")
    thread = page.get_by_role("dialog", name="Beta's thread")
    await expect(thread.locator(f"#{anchor}")).to_be_in_viewport()
    await expect(thread.locator(f"#{anchor}")).to_contain_text("the first answers of the others")
    await assert_fits_phone(page)
    await page.keyboard.press("Escape")
    await expect(thread).to_have_count(0)
    await expect(page.get_by_role("region", name="Claims")).to_be_visible()
    await assert_fits_phone(page)


async def test_claim_quote_has_url_and_back_returns_to_claim(server: MootServer, page: Page) -> None:
    opened = await open_debate(server, "advocate", "sceptic", "undecided")
    address = f"{server.url}/d/{opened['discussion']['id']}"
    await server.run_events(opened["run"]["id"])
    await page.goto(address)
    claims = page.get_by_role("region", name="Claims")
    quote = claims.get_by_role("link").last
    words = await quote.inner_text()
    await quote.press("Enter")
    answer = page.locator("article:focus")
    await expect(answer).to_contain_text(words)
    await page.wait_for_function(IS_QUOTE_MARKED_JS, arg=words)
    message = await answer.get_attribute("id")
    assert page.url == f"{address}#{message}"

    await page.go_back()
    assert page.url == address
    await expect(quote).to_be_focused()
    await expect(quote).to_be_in_viewport()
    await page.go_forward()
    await expect(answer).to_have_attribute("id", message or "")
    await page.wait_for_function(IS_QUOTE_MARKED_JS, arg=words)

    await page.goto("about:blank")
    await page.goto(f"{address}#{message}")
    await expect(page.locator(f"#{message}")).to_be_focused()
    await expect(page.locator(f"#{message}")).to_be_in_viewport()
    await expect(page.locator(f"#{message}")).to_contain_text(words)


async def test_debate_stopped_by_user_is_not_shown_as_failed(server: MootServer, page: Page) -> None:
    opened = await open_debate(server, "unending", "unending")
    await page.goto(f"{server.url}/d/{opened['discussion']['id']}")
    await expect(lane_button(page, "Alpha speaking")).to_be_visible()
    await expect(lane_button(page, "Beta speaking")).to_be_visible()
    await server.post(f"/api/runs/{opened['run']['id']}/stop")
    await expect(page.get_by_role("button", name="Retry all 2")).to_be_visible()
    first = page.get_by_role("list", name="Stages of the debate").get_by_role("listitem").first
    await expect(first).to_have_text(re.compile(r"0 of 2 answered\s+2 stopped"))
    await expect(first).to_have_class(re.compile("stopped"))
    await expect(first.locator(".bad")).to_have_count(0)


async def test_lane_is_stopped_while_streaming_and_retried(server: MootServer, page: Page) -> None:
    opened = await open_debate(server, "advocate", "unending")
    await page.goto(f"{server.url}/d/{opened['discussion']['id']}")
    stages = page.get_by_role("list", name="Stages of the debate")
    await expect(stages.get_by_role("listitem").filter(has_text="First answers")).to_contain_text("1 of 2 finished")
    await lane_button(page, "Beta speaking").click()
    thread = page.get_by_role("dialog", name="Beta's thread")
    await expect(thread).to_contain_text("A table has no head")
    stop = thread.get_by_role("button", name="Stop Beta")
    place = await stop.bounding_box()
    await expect(thread).to_contain_text("A table has no head. " * 8)
    assert await stop.bounding_box() == place  # however much text is above it
    await stop.click()
    await expect(thread.get_by_role("button", name="Retry")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(stages).to_contain_text("1 stopped")
    await expect(stages.get_by_role("listitem").filter(has_text="Debate")).to_contain_text("Skipped")
    await server.run_events(opened["run"]["id"])

    await page.get_by_role("button", name="Retry Beta").click()
    await expect(lane_button(page, "Beta speaking")).to_be_visible()
    await expect(stages.get_by_role("listitem").filter(has_text="First answers")).to_have_attribute(
        "aria-current", "step"
    )


async def test_participant_beyond_quorum_is_marked_late_and_stages_are_links(server: MootServer, page: Page) -> None:
    opened = await open_debate(server, "advocate", "sceptic", "unending", quorum=2)
    await page.goto(f"{server.url}/d/{opened['discussion']['id']}")
    stages = page.get_by_role("list", name="Stages of the debate")
    first = stages.get_by_role("listitem").filter(has_text="First answers")
    await expect(first).to_contain_text("1 too late")
    await expect(stages).to_contain_text("Written")
    await expect(lane_button(page, "Gamma too late")).to_be_visible()
    await expect(page.get_by_role("button", name="Retry Gamma")).to_be_visible()

    await server.run_events(opened["run"]["id"])
    await page.reload()  # after a reload, nothing folds while a person may be reading
    await expect(lane_button(page, "Gamma too late")).to_be_visible()
    late = page.get_by_role("article", name="Gamma", exact=True)
    await expect(late).to_have_count(0)
    await first.get_by_role("button", name="First answers").click()
    await expect(late).to_be_in_viewport()
    await assert_accessible(page)


async def test_debate_is_skipped_when_first_answers_agree_and_savings_are_shown(server: MootServer, page: Page) -> None:
    opened = await open_debate(server, "agreeing", "agreeing", skip_if_agreed=True)
    await page.goto(f"{server.url}/d/{opened['discussion']['id']}")
    skipped = page.get_by_role("list", name="Stages of the debate").get_by_role("listitem").nth(1)
    for _ in range(2):
        await expect(skipped).to_contain_text("Skipped: they agree. Saved about $0.0")
        await expect(page.get_by_role("list", name="Notes on this debate")).to_contain_text(
            "Both would split it. The debate was skipped"
        )
        await server.run_events(opened["run"]["id"])
        await page.reload()
    await page.get_by_role("group", name="Continue without a message").get_by_role("button").click()
    await expect(page.get_by_role("heading", name="Continued, turns 1 to 2")).to_be_visible()
