"""Projects: made and changed, their posts, and what was learnt in their discussions."""

import re
from typing import Any

from playwright.async_api import Page, expect

from tests.page.axe import assert_accessible
from tests.page.discussions import choose_reader_model, open_titled_discussion
from tests.page.page_errors import PageErrors
from tests.page.phone import assert_fits_phone
from tests.page.timeouts import KEEP_TOASTS_JS
from tests.support.moot_server import MootServer

POLL_MILLISECONDS = 3_000  # milliseconds


async def test_project_is_created_edited_given_posts_and_deleted(server: MootServer, page: Page) -> None:
    await page.add_init_script(KEEP_TOASTS_JS)
    await page.goto(f"{server.url}/projects")
    await expect(page.get_by_text("No projects yet.")).to_be_visible()
    await assert_accessible(page)
    await page.get_by_role("button", name="Create a project").click()
    editor = page.get_by_role("dialog", name="New project")
    await expect(editor.get_by_label("Name")).to_be_focused()
    await editor.get_by_label("Name").fill("Kitchen")
    await editor.get_by_label("Repository").fill("https://example.org/kitchen")
    await editor.get_by_role("button", name="Add project").click()
    await expect(page.get_by_role("heading", name="Kitchen", level=1)).to_be_visible()
    link = page.get_by_role("link", name="Repository")
    await expect(link).to_have_attribute("href", "https://example.org/kitchen")

    await page.get_by_role("button", name="More about Kitchen").click()
    await page.get_by_role("menuitem", name="Edit").click()
    editor = page.get_by_role("dialog", name="Edit project")
    await editor.get_by_label("Description").fill("A table for six.")
    await editor.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("A table for six.")).to_be_visible()

    posts = page.get_by_role("region", name="Posts")
    await posts.get_by_role("button", name="Write a post").click()
    editor = page.get_by_role("dialog", name="Write a post")
    await editor.get_by_label("Title").fill("The floor is done")
    await editor.get_by_label("What happened").fill("Stone tiles.")
    await editor.get_by_role("button", name="Save as draft").click()
    await expect(posts).to_contain_text("Draft")
    await posts.get_by_role("button", name="More about The floor is done").click()
    await page.get_by_role("menuitem", name="Publish").click()
    await expect(posts).to_contain_text("Published")
    await page.get_by_role("button", name="Undo").click()
    await expect(posts).to_contain_text("Draft")
    await assert_accessible(page, within=posts)
    await assert_fits_phone(page)
    await posts.get_by_role("button", name="More about The floor is done").click()
    await page.get_by_role("menuitem", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(posts).not_to_contain_text("The floor is done")

    await page.get_by_role("button", name="More about Kitchen").click()
    await page.get_by_role("menuitem", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(page).to_have_url(f"{server.url}/projects")
    await expect(page.get_by_text("No projects yet.")).to_be_visible()


async def test_insights_are_exported_searched_and_consolidated(
    server: MootServer, page: Page, page_errors: PageErrors
) -> None:
    project = (await server.post("/api/projects", {"name": "Kitchen"})).body["id"]
    discussion = await open_titled_discussion(server, "Round or square?", project=project)
    await page.goto(f"{server.url}/projects/{project}")
    patterns = page.get_by_role("region", name="Patterns")
    await patterns.get_by_role("button", name="Find patterns").click()
    page_errors.allow("409")
    await patterns.get_by_role("button", name="Start search").click()
    await expect(patterns.get_by_role("alert")).to_contain_text("Export one of its discussions first")

    discussions = page.get_by_role("region", name="Discussions")
    await expect(discussions.get_by_role("link", name="Round or square?")).to_have_attribute("href", f"/d/{discussion}")
    await discussions.get_by_role("button", name="Summarise").click()
    dialog = page.get_by_role("dialog", name="Summary")
    await choose_reader_model(dialog, "scripted/export")
    await dialog.get_by_role("button", name="Summarise").click()
    await expect(dialog).to_contain_text("Round tables help people talk.")
    await page.keyboard.press("Escape")

    insights = page.get_by_role("region", name="Insights")
    pain = insights.get_by_role("article").filter(has_text="Corners stay unused")
    await expect(pain).to_contain_text("High")
    await expect(pain).to_contain_text("Answered by")
    await expect(pain).to_contain_text("A bench uses the corner")
    source_link = pain.get_by_role("link", name="message 1").first
    assert (await source_link.get_attribute("href") or "").startswith(f"/d/{discussion}#msg_")
    await insights.get_by_role("button", name="Decision").click()
    await expect(insights.get_by_role("article")).to_have_count(1)
    await insights.get_by_role("button", name="All").click()
    await insights.get_by_label("Search insights").fill("bench")
    await expect(insights.get_by_role("article").filter(has_text="Oak it is")).to_have_count(0)
    await expect(insights.get_by_role("article").filter(has_text="A bench uses")).to_have_count(1)

    await choose_reader_model(patterns, "scripted/silent")
    await patterns.get_by_role("button", name="Start search").click()
    await expect(patterns.get_by_role("status")).to_contain_text("Looking for patterns")
    await patterns.get_by_role("button", name="Stop").click()
    await expect(patterns.get_by_role("alert")).to_contain_text("Stopped.")
    await choose_reader_model(patterns, "scripted/consolidate")
    await patterns.get_by_role("button", name="Start search").click()
    found = patterns.get_by_role("article")
    await expect(found).to_contain_text("Space is measured too late")
    await expect(found).to_contain_text("seen 4 times")
    await expect(found.get_by_role("list", name="Evidence")).to_contain_text("Corners stay unused")
    await assert_accessible(page)
    await assert_fits_phone(page)

    await discussions.get_by_role("link", name="Start a discussion").click()
    await expect(page.get_by_role("combobox", name=re.compile("^Project"))).to_have_value(project)
    await page.goto(f"{server.url}/projects")
    await expect(page.get_by_role("link", name="Kitchen")).to_be_visible()
    await assert_fits_phone(page)


async def test_patterns_are_polled_until_consolidation_elsewhere_completes(
    server: MootServer, page: Page, page_errors: PageErrors
) -> None:
    page_errors.allow("status of 500")
    project = (await server.post("/api/projects", {"name": "Kitchen"})).body["id"]
    sought = {"id": "con_1", "model": "scripted/silent", "created_at": 0, "ended_at": None, "patterns": []}
    looking = {"completed": None, "newest": {**sought, "status": "running"}}
    found = {**sought, "status": "completed", "ended_at": 1}
    now: dict[str, Any] = {"json": looking}
    await page.route("**/patterns", lambda route: route.fulfill(**now))
    await page.clock.install()
    await page.goto(f"{server.url}/projects/{project}")
    patterns = page.get_by_role("region", name="Patterns")
    await expect(patterns.get_by_role("status")).to_contain_text("has been looking for patterns since")
    now = {"status": 500, "json": {"detail": "It broke."}}
    await page.clock.fast_forward(POLL_MILLISECONDS)
    await expect(patterns.get_by_role("alert")).to_have_text("It broke.")
    now = {"json": {"completed": found, "newest": found}}
    await page.clock.fast_forward(POLL_MILLISECONDS)
    await expect(patterns).to_contain_text("No patterns yet.")
    await expect(patterns.get_by_role("alert")).to_have_count(0)
