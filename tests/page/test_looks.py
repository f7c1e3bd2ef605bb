"""Every view on a phone, where it is touched, and in the dark: nothing is cut off, too small or hard to read."""

import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from playwright.async_api import Browser, Locator, Page, expect

from tests.page.axe import axe
from tests.page.phone import phone
from tests.page.reading import discussed, opened, reading
from tests.page.test_advisors import TABLE
from tests.page.test_lesson import LESSON
from tests.serving import MootServer

DEBATERS = ["scripted/advocate", "scripted/sceptic", "scripted/undecided"]
SMALL = """() => {
    const ACTS = "a[href], button, input, select, textarea, summary, [role=tab], [role=switch], [role=slider]";
    const target = (one) => (one.matches("input[type=radio], input[type=checkbox]") && one.closest("label")) || one;
    const isInText = (one) => one.matches("a") && getComputedStyle(one).display === "inline";
    return [...document.querySelectorAll(ACTS)]
        .filter((one) => !isInText(one) && !one.matches("[type=file]"))
        .map(target)
        .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest("[inert], .skip"))
        .map((one) => ({ one, box: one.getBoundingClientRect() }))
        .filter(({ box }) => box.width > 2 && box.height > 2 && Math.min(box.width, box.height) < 24)
        .map(({ one, box }) => `${Math.round(box.width)} x ${Math.round(box.height)}: ${one.outerHTML.slice(0, 160)}`);
}"""
WIDE = """() => [...document.querySelectorAll("html, main, dialog[open], dialog[open] .content")]
    .filter((one) => one.scrollWidth > one.clientWidth + 1)
    .map((one) => `${one.tagName} ${one.className} is ${one.scrollWidth} wide`)"""

View = Callable[[Page], Awaitable[None]]


async def views(server: MootServer) -> Mapping[str, View]:
    """Lay out something for every view, and say how each is reached and when it is there."""
    project = (
        await server.post("/api/projects", {"name": "Kitchen", "description": "A table for six."})
    ).body
    written = await discussed(server, "Round or square?", project=project["id"])
    export = await server.post(f"/api/discussions/{written}/export", {"model": "scripted/export"})
    assert export.status == 200, export
    news = {"title": "The floor is done", "excerpt": "Stone."}
    post = await server.post(f"/api/projects/{project['id']}/posts", news)
    assert post.status == 201, post
    rounds = await opened(server, "echo", "steady", mode="consensus", rounds=2)
    advice = await opened(server, **TABLE)
    debate = await opened(server, mode="debate", participants=DEBATERS)
    lesson = await opened(server, **LESSON | {"directed": {"turns": 2, "trigger": "Alpha"}})
    judged = await opened(server, "scholar", clerk="scripted/clerk")

    def at(path: str, there: Callable[[Page], Locator], then: View | None = None) -> View:
        async def show(page: Page) -> None:
            await page.goto(server.url + path)
            await expect(there(page).first).to_be_visible()
            if then is not None:
                await then(page)

        return show

    return {
        "start": at("/", lambda page: page.get_by_role("button", name=re.compile("^Edit Scientist"))),
        "rounds": at(f"/d/{rounds}", lambda page: page.get_by_role("heading", name="Round 2")),
        "advisors": at(f"/d/{advice}", lambda page: page.get_by_role("switch", name="Ida")),
        "debate": at(f"/d/{debate}", lambda page: page.get_by_role("region", name="Claims")),
        "thread": at(f"/d/{debate}", lambda page: page.get_by_role("region", name="Claims"), _thread),
        "lesson": at(f"/d/{lesson}", lambda page: page.get_by_role("slider", name="Moment")),
        "assertions": at(f"/d/{judged}", lambda page: page.get_by_role("article"), _assertions),
        "personas": at("/personas", lambda page: page.get_by_role("button", name="Advocate", exact=True)),
        "persona": at(
            "/personas", lambda page: page.get_by_role("button", name="Advocate", exact=True), _persona
        ),
        "perspectives": at(
            "/personas", lambda page: page.get_by_role("button", name="Find perspectives"), _voices
        ),
        "projects": at("/projects", lambda page: page.get_by_role("link", name="Kitchen")),
        "project": at(
            f"/projects/{project['id']}", lambda page: page.get_by_text("A bench uses the corner"), _posted
        ),
        "models": at("/models", lambda page: page.get_by_role("region", name="Ready")),
        "usage": at("/usage", lambda page: page.get_by_role("region", name="By model")),
    }


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
    await wizard.get_by_role("combobox", name="Model that proposes them").fill("scripted/clerk")
    await expect(wizard.get_by_role("button", name="Next")).to_be_enabled()


async def test_every_view_fits_a_phone_and_is_readable_in_the_dark(
    tmp_path: Path, page: Page, browser: Browser
) -> None:
    await page.emulate_media(color_scheme="dark")
    troubles: list[str] = []
    async with reading(page, tmp_path) as server, phone(browser) as small:
        for name, show in (await views(server)).items():
            for where, here in (("phone", small), ("dark", page)):
                await show(here)
                try:
                    await axe(here)
                except AssertionError as found:
                    troubles.append(f"{name}, {where}: {found}")
            troubles += [
                f"{name}: {one}" for one in [*await small.evaluate(WIDE), *await small.evaluate(SMALL)]
            ]
    assert not troubles, "\n".join(troubles)
