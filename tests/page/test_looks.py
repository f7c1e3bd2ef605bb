"""Every view on a phone, where it is touched, and in the dark: nothing is cut off, too small or hard to read."""

import re
from collections.abc import Awaitable, Callable

import pytest
from playwright.async_api import Locator, Page, expect

from tests.page.axe import axe
from tests.page.contexts import Contexts
from tests.page.phone import fits, phone
from tests.page.reading import discussed, opened
from tests.page.test_advisors import TABLE
from tests.page.test_lesson import LESSON
from tests.serving import MootServer

DEBATERS = ["scripted/advocate", "scripted/sceptic", "scripted/undecided"]

View = Callable[[Page], Awaitable[None]]


def at(path: str, there: Callable[[Page], Locator], then: View | None = None) -> View:
    """Go somewhere, wait until it is there, and do what leads to the view."""

    async def show(page: Page) -> None:
        await page.goto(path)
        await expect(there(page).first).to_be_visible()
        if then is not None:
            await then(page)

    return show


async def start(server: MootServer) -> View:
    return at(f"{server.url}/", lambda page: page.get_by_role("button", name=re.compile("^Edit Scientist")))


async def rounds(server: MootServer) -> View:
    id = await opened(server, "echo", "steady", mode="consensus", rounds=2)
    return at(f"{server.url}/d/{id}", lambda page: page.get_by_role("heading", name="Round 2"))


async def advisors(server: MootServer) -> View:
    id = await opened(server, **TABLE)
    return at(f"{server.url}/d/{id}", lambda page: page.get_by_role("switch", name="Ida"))


async def debate(server: MootServer, then: View | None = None) -> View:
    id = await opened(server, mode="debate", participants=DEBATERS)
    return at(f"{server.url}/d/{id}", lambda page: page.get_by_role("region", name="Claims"), then)


async def thread(server: MootServer) -> View:
    return await debate(server, _thread)


async def lesson(server: MootServer) -> View:
    id = await opened(server, **LESSON | {"directed": {"turns": 2, "trigger": "Alpha"}})
    return at(f"{server.url}/d/{id}", lambda page: page.get_by_role("slider", name="Moment"))


async def assertions(server: MootServer) -> View:
    id = await opened(server, "scholar", clerk="scripted/clerk")
    return at(f"{server.url}/d/{id}", lambda page: page.get_by_role("article"), _assertions)


async def personas(server: MootServer, then: View | None = None) -> View:
    return at(
        f"{server.url}/personas", lambda page: page.get_by_role("button", name="Advocate", exact=True), then
    )


async def persona(server: MootServer) -> View:
    return await personas(server, _persona)


async def perspectives(server: MootServer) -> View:
    return await personas(server, _voices)


async def kitchen(server: MootServer) -> str:
    """Make a project with a discussion that was written down, and with a post."""
    made = await server.post("/api/projects", {"name": "Kitchen", "description": "A table for six."})
    project = str(made.body["id"])
    written = await discussed(server, "Round or square?", project=project)
    export = await server.post(f"/api/discussions/{written}/export", {"model": "scripted/export"})
    assert export.status == 200, export
    news = {"title": "The floor is done", "excerpt": "Stone."}
    post = await server.post(f"/api/projects/{project}/posts", news)
    assert post.status == 201, post
    return project


async def projects(server: MootServer) -> View:
    await kitchen(server)
    return at(f"{server.url}/projects", lambda page: page.get_by_role("link", name="Kitchen"))


async def project(server: MootServer) -> View:
    address = f"{server.url}/projects/{await kitchen(server)}"
    return at(address, lambda page: page.get_by_text("A bench uses the corner"), _posted)


async def models(server: MootServer) -> View:
    return at(f"{server.url}/models", lambda page: page.get_by_role("region", name="Ready"))


async def usage(server: MootServer) -> View:
    await discussed(server, "Round or square?")
    return at(f"{server.url}/usage", lambda page: page.get_by_role("region", name="By model"))


async def _thread(page: Page) -> None:
    await page.get_by_role("list", name="Threads of the participants").get_by_role("button").first.click()
    await expect(page.get_by_role("dialog")).to_contain_text("Hidden prompt")


async def _assertions(page: Page) -> None:
    await page.get_by_role("article").hover()
    await page.get_by_role("button", name="More about this answer").click()
    await page.get_by_role("menuitem", name="Assertions").click()
    trial = page.get_by_role("dialog", name="Assertions about")
    await trial.get_by_label("Assertions, one a line").fill("It gives a reason.\nIt names a source.")
    await expect(trial.get_by_role("button", name="Judge")).to_be_enabled()


async def _posted(page: Page) -> None:
    await expect(page.get_by_role("region", name="Posts")).to_contain_text("The floor is done")


async def _persona(page: Page) -> None:
    await page.get_by_role("button", name="Advocate", exact=True).click()
    await page.get_by_role("dialog").get_by_role("button", name="Duplicate").click()
    await expect(page.get_by_role("dialog").get_by_label("Name")).to_be_visible()


async def _voices(page: Page) -> None:
    await page.get_by_role("button", name="Find perspectives").click()
    wizard = page.get_by_role("dialog", name="Find perspectives")
    await wizard.get_by_label("Your situation").fill("I may move abroad for work.")
    model = wizard.get_by_role("combobox", name="Model that proposes them")
    await expect(model).not_to_have_value("")  # the page proposes one: it would come into what is typed
    await model.fill("scripted/clerk")
    await expect(wizard.get_by_role("button", name="Next")).to_be_enabled()


FIRST = (rounds,)
OTHERS = (
    start,
    advisors,
    debate,
    thread,
    lesson,
    assertions,
    personas,
    persona,
    perspectives,
    projects,
    project,
    models,
    usage,
)


# The journeys of the other views show in the default ring that nothing is too wide or too small, with `fits_a_phone`.
@pytest.mark.parametrize("view", [*FIRST, *(pytest.param(one, marks=pytest.mark.slow) for one in OTHERS)])
async def test_every_view_fits_a_phone_and_is_readable_in_the_dark(
    server: MootServer, page: Page, contexts: Contexts, view: Callable[[MootServer], Awaitable[View]]
) -> None:
    await page.emulate_media(color_scheme="dark")
    show = await view(server)
    async with phone(contexts, page) as small:
        for here in (small, page):
            await show(here)
            await axe(here)
        await fits(small)
