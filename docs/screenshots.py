"""Makes the pictures of the page in docs/page: the running program, in every mode, light, dark and on a phone.

Run it with: uv run python docs/screenshots.py. Everything that is said in them comes from scripts.
"""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from playwright.async_api import Browser, Page, async_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.page.browser import FULL_BROWSERS, launch_browser  # noqa: E402 - the path is known only now
from tests.support.moot_server import MootServer, run_moot_server  # noqa: E402

PICTURES = ROOT / "docs" / "page"
SCRIPTS = ROOT / "docs" / "screenshots.toml"
WIDE = {"width": 1280, "height": 820}
PHONE = {"width": 390, "height": 844}


class Scene(Struct, frozen=True, kw_only=True):
    """What is asked of whom, and when the picture is taken; `ready` is what has to be seen then."""

    name: str
    message: str
    participants: Sequence[Mapping[str, object]]
    mode: str
    ready: str
    options: Mapping[str, object] = {}
    ends: bool = True


def voice(name: str, script: str, **more: object) -> Mapping[str, object]:
    return {"name": name, "model": f"scripted/{script}", **more}


SCENES = (
    Scene(
        name="single",
        message="Explain to a cook why the sky is blue.",
        participants=[voice("Guide", "guide")],
        mode="single",
        ready="The pan tells you why",
    ),
    Scene(
        name="parallel",
        message="Should a small team rewrite its web server in Rust?",
        participants=[
            voice("Optimist", "optimist"),
            voice("Sceptic", "doubter"),
            voice("Unplugged", "forbidden"),
        ],
        mode="parallel",
        ready="What did users ask for",
        ends=False,
    ),
    Scene(
        name="consensus",
        message="Tabs or spaces? Agree on one.",
        participants=[voice("Ada", "tabs"), voice("Bo", "spaces")],
        mode="consensus",
        ready="Bo",
    ),
    Scene(
        name="debate",
        message="Shall we split the service?",
        participants=[
            voice("Advocate", "advocate"),
            voice("Sceptic", "sceptic"),
            voice("Undecided", "undecided"),
        ],
        mode="debate",
        ready="Summary",
    ),
    Scene(
        name="advisors",
        message="I may move abroad for work, and my family would rather stay.",
        participants=[voice("Ida", "ida"), voice("Ben", "ben"), voice("Cy", "cy")],
        mode="advisors",
        options={"advisors": {"synthesis": True, "question_turns": 0}},
        ready="Synthesis",
    ),
    Scene(
        name="directed",
        message="Why do the odd numbers add up to squares?",
        participants=[
            {"model": "scripted/teacher", "role": "teacher"},
            {"model": "scripted/assistant", "role": "assistant"},
            {"model": "scripted/student", "role": "student"},
            {"model": "scripted/classmate", "role": "student"},
        ],
        mode="directed",
        options={"directed": {"turns": 8}},
        ready="It is your turn.",
    ),
)


async def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    settings = f'[providers.scripted]\nscript = "{SCRIPTS}"\n'
    with tempfile.TemporaryDirectory(prefix="moot-pictures-") as folder:
        async with (
            run_moot_server(Path(folder), settings=settings) as server,
            async_playwright() as playwright,
        ):
            browser = await launch_browser(playwright, FULL_BROWSERS)
            for scene in SCENES:
                await _taken(browser, server, scene)
            await _view(browser, server, "/", "start", _models_are_found)
            for view in ("personas", "models", "usage"):
                await _view(browser, server, f"/{view}", view)
            await browser.close()


async def _models_are_found(page: Page) -> None:
    await page.get_by_text("Looking for models that can answer").wait_for(state="detached")


async def _taken(browser: Browser, server: MootServer, scene: Scene) -> None:
    body = {
        "message": scene.message,
        "title": scene.message,
        "mode": scene.mode,
        "participants": list(scene.participants),
        **scene.options,
    }
    reply = await server.post("/api/discussions", body)
    if reply.status != 201:
        raise SystemExit(reply.text)
    if scene.ends:
        await server.run_events(reply.body["run"]["id"])

    async def ready(page: Page) -> None:
        await page.get_by_text(scene.ready).first.wait_for()

    await _view(browser, server, f"/d/{reply.body['discussion']['id']}", scene.name, ready)
    await server.post(f"/api/runs/{reply.body['run']['id']}/stop")


async def _view(
    browser: Browser,
    server: MootServer,
    path: str,
    name: str,
    ready: Callable[[Page], Awaitable[None]] | None = None,
) -> None:
    """Take a view three times: light, dark, and on a phone."""
    looks: list[tuple[str, Literal["light", "dark"], Any]] = [
        ("", "light", WIDE),
        ("-dark", "dark", WIDE),
        ("-phone", "light", PHONE),
    ]
    for suffix, scheme, size in looks:
        context = await browser.new_context(
            viewport=size, color_scheme=scheme, reduced_motion="reduce", has_touch=size is PHONE
        )
        page = await context.new_page()
        await page.goto(server.url + path)
        if ready is not None:
            await ready(page)
        while not await page.evaluate("[...document.images].every((image) => image.complete)"):
            await page.wait_for_timeout(50)
        await page.wait_for_timeout(800)  # until everything stands still
        await page.screenshot(path=PICTURES / f"{name}{suffix}.png")
        await context.close()


if __name__ == "__main__":
    asyncio.run(main())
