"""Every view on a phone, where it is touched, and in the dark: nothing is cut off, too small or hard to read."""

import re
from collections.abc import Awaitable, Callable

import pytest
from playwright.async_api import Locator, Page, expect

from tests.page.axe import assert_accessible
from tests.page.contexts import BrowserContexts
from tests.page.discussions import open_discussion, open_titled_discussion
from tests.page.phone import assert_fits_screen, open_phone_page
from tests.page.test_advisors import ADVISORS_REQUEST
from tests.page.test_lesson import LESSON_REQUEST
from tests.support.moot_server import MootServer

DEBATERS = ["scripted/advocate", "scripted/sceptic", "scripted/undecided"]

View = Callable[[Page], Awaitable[None]]


def view_at(path: str, ready_locator: Callable[[Page], Locator], after_load: View | None = None) -> View:
    """Go somewhere, wait until it is there, and do what leads to the view."""

    async def show(page: Page) -> None:
        await page.goto(path)
        await expect(ready_locator(page).first).to_be_visible()
        if after_load is not None:
            await after_load(page)

    return show


async def start(server: MootServer) -> View:
    return view_at(f"{server.url}/", lambda page: page.get_by_role("button", name=re.compile("^Edit Scientist")))


async def rounds(server: MootServer) -> View:
    id = await open_discussion(server, "echo", "steady", mode="consensus", rounds=2)
    return view_at(f"{server.url}/d/{id}", lambda page: page.get_by_role("heading", name="Round 2"))


async def advisors(server: MootServer) -> View:
    id = await open_discussion(server, **ADVISORS_REQUEST)
    return view_at(f"{server.url}/d/{id}", lambda page: page.get_by_role("switch", name="Ida"))


async def debate(server: MootServer, after_load: View | None = None) -> View:
    id = await open_discussion(server, mode="debate", participants=DEBATERS)
    return view_at(f"{server.url}/d/{id}", lambda page: page.get_by_role("region", name="Claims"), after_load)


async def thread(server: MootServer) -> View:
    return await debate(server, _open_thread)


async def lesson(server: MootServer) -> View:
    id = await open_discussion(server, **LESSON_REQUEST | {"directed": {"turns": 2, "first_speaker": "Alpha"}})
    return view_at(f"{server.url}/d/{id}", lambda page: page.get_by_role("slider", name="Moment"))


async def assertions(server: MootServer) -> View:
    id = await open_discussion(server, "scholar", task_model="scripted/task-model")
    return view_at(f"{server.url}/d/{id}", lambda page: page.get_by_role("article"), _open_assertions)


async def personas(server: MootServer, after_load: View | None = None) -> View:
    return view_at(
        f"{server.url}/personas",
        lambda page: page.get_by_role("button", name="Advocate", exact=True),
        after_load,
    )


async def persona(server: MootServer) -> View:
    return await personas(server, _open_persona_editor)


async def persona_suggestions(server: MootServer) -> View:
    return await personas(server, _open_persona_suggestions)


async def create_project_with_export(server: MootServer) -> str:
    """Make a project with a discussion that was written down, and with a post."""
    made = await server.post("/api/projects", {"name": "Kitchen", "description": "A table for six."})
    project = str(made.body["id"])
    written = await open_titled_discussion(server, "Round or square?", project=project)
    export = await server.post(f"/api/discussions/{written}/export", {"model": "scripted/export"})
    assert export.status == 200, export
    news = {"title": "The floor is done", "excerpt": "Stone."}
    post = await server.post(f"/api/projects/{project}/posts", news)
    assert post.status == 201, post
    return project


async def projects(server: MootServer) -> View:
    await create_project_with_export(server)
    return view_at(f"{server.url}/projects", lambda page: page.get_by_role("link", name="Kitchen"))


async def project(server: MootServer) -> View:
    address = f"{server.url}/projects/{await create_project_with_export(server)}"
    return view_at(address, lambda page: page.get_by_text("A bench uses the corner"), _wait_for_post)


async def models(server: MootServer) -> View:
    return view_at(f"{server.url}/models", lambda page: page.get_by_role("region", name="Ready"))


async def usage(server: MootServer) -> View:
    await open_titled_discussion(server, "Round or square?")
    return view_at(f"{server.url}/usage", lambda page: page.get_by_role("region", name="By model"))


async def _open_thread(page: Page) -> None:
    await page.get_by_role("list", name="Threads of the participants").get_by_role("button").first.click()
    await expect(page.get_by_role("dialog")).to_contain_text("Hidden prompt")


async def _open_assertions(page: Page) -> None:
    await page.get_by_role("article").hover()
    await page.get_by_role("button", name="More about this answer").click()
    await page.get_by_role("menuitem", name="Check this answer").click()
    evaluation = page.get_by_role("dialog", name=re.compile("^Check .* answer"))
    await evaluation.get_by_label("Assertions, one per line").fill("It gives a reason.\nIt names a source.")
    await expect(evaluation.get_by_role("button", name="Check")).to_be_enabled()


async def _wait_for_post(page: Page) -> None:
    await expect(page.get_by_role("region", name="Posts")).to_contain_text("The floor is done")


async def _open_persona_editor(page: Page) -> None:
    await page.get_by_role("button", name="Advocate", exact=True).click()
    await page.get_by_role("dialog").get_by_role("button", name="Duplicate").click()
    await expect(page.get_by_role("dialog").get_by_label("Name")).to_be_visible()


async def _open_persona_suggestions(page: Page) -> None:
    await page.get_by_role("button", name="Suggest personas").click()
    wizard = page.get_by_role("dialog", name="Suggest personas")
    await wizard.get_by_label("Your situation").fill("I may move abroad for work.")
    model = wizard.get_by_role("combobox", name="Model")
    await expect(model).not_to_have_value("")  # the page proposes one: it would come into what is typed
    await model.fill("scripted/task-model")
    await expect(wizard.get_by_role("button", name="Next")).to_be_enabled()


DEFAULT_RING_VIEWS = (rounds,)
SLOW_RING_VIEWS = (
    start,
    advisors,
    debate,
    thread,
    lesson,
    assertions,
    personas,
    persona,
    persona_suggestions,
    projects,
    project,
    models,
    usage,
)


# The tests of the other views show in the default ring that nothing is too wide or too small, with `assert_fits_phone`.
@pytest.mark.parametrize(
    "view", [*DEFAULT_RING_VIEWS, *(pytest.param(one, marks=pytest.mark.slow) for one in SLOW_RING_VIEWS)]
)
async def test_view_fits_phone_and_is_accessible_in_dark_theme(
    server: MootServer, page: Page, contexts: BrowserContexts, view: Callable[[MootServer], Awaitable[View]]
) -> None:
    await page.emulate_media(color_scheme="dark")
    show = await view(server)
    async with open_phone_page(contexts, page) as small:
        for shown_page in (small, page):
            await show(shown_page)
            await assert_accessible(shown_page)
        await assert_fits_screen(small)
