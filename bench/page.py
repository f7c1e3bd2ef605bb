"""How the page feels while six models stream at once, how fast a long discussion opens, and how heavy a first visit is.

Run `python -m bench.page` on a quiet machine. A real `moot serve`, a real Chromium; the models are scripts that say
markdown at a hundred pieces a second, each. Linux only.
"""

import argparse
import asyncio
import os
import platform
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any

import aiohttp
import msgspec
from msgspec import Struct
from playwright.async_api import Browser, Page, async_playwright

from bench.page_words import MODELS, SCRIPTS
from bench.processes import MootProcess, moot_serve
from tests.page.browser import FULL_BROWSERS, launch_browser

SECONDS = 20
MESSAGES = 2000
ANSWERS = 9  # to each message of the long discussion
KEY_INTERVAL_SECONDS = 0.12
PROBE = Path(__file__).with_name("page_probe.js")
LAZY = ("katex", "KaTeX")


class Figure(Struct, frozen=True):
    what: str
    value: float
    unit: str
    goal: float | None = None  # None: only to compare with
    least: bool = False  # whether the goal is a least, and not a most

    @property
    def verdict(self) -> str:
        if self.goal is None:
            return ""
        holds = self.value >= self.goal if self.least else self.value <= self.goal
        return f"(goal {'>=' if self.least else '<='} {self.goal:g}): {'holds' if holds else 'DOES NOT HOLD'}"


async def first_visit(page: Page, server: MootProcess) -> list[Figure]:
    """Add up what a first visit brings over the wire, packed as it comes."""
    sizes: dict[str, int] = {}
    session = await page.context.new_cdp_session(page)
    await session.send("Network.enable")
    urls: dict[str, str] = {}
    session.on("Network.responseReceived", lambda event: urls.update({event["requestId"]: event["response"]["url"]}))
    session.on("Network.loadingFinished", lambda event: sizes.update({event["requestId"]: event["encodedDataLength"]}))
    await page.goto(server.url)
    await page.get_by_role("textbox").first.wait_for()
    await page.get_by_text("Looking for models that can answer").wait_for(state="hidden")
    files = {url: sizes[id] for id, url in urls.items() if id in sizes and "/api/" not in url}
    total = sum(size for url, size in files.items() if not any(name in url for name in LAZY))
    return [Figure("first load, gzip", total / 1000, "kB", 200)]


async def typing_at_rest(page: Page, server: MootProcess, seconds: int) -> list[Figure]:
    """Type while no model answers: the time that this machine needs for a key."""
    await page.goto(server.url)
    await page.get_by_role("textbox").first.click()
    found = await _measure_typing(page, seconds)
    return [Figure("key to frame at rest, p95", _p95(found["keys"]), "ms")]


async def typing_while_streaming(page: Page, server: MootProcess, seconds: int) -> list[Figure]:
    """Type while six models stream, and measure frames and keys in the page."""
    opened = await _post(server, "/api/discussions", {"message": "Speak.", "participants": MODELS})
    await page.goto(f"{server.url}/d/{opened['discussion']['id']}")
    composer = page.get_by_role("textbox", name="Your message")
    await composer.click()
    await page.locator("article").nth(len(MODELS) - 1).wait_for()
    found = await _measure_typing(page, seconds)
    await _post(server, f"/api/runs/{opened['run']['id']}/stop", None)
    words = sum(len(text) for text in await page.locator("article").all_text_contents())
    print(f"  {words:,} characters were shown, {len(found['keys'])} keys were pressed")
    assert words > len(MODELS) * seconds * 100, "the models did not stream"
    return [
        Figure("frames a second", found["frames"] / found["seconds"], "", 55, least=True),
        Figure("key to frame, p95", _p95(found["keys"]), "ms", 50),
        Figure("long tasks in all", found["long"], "ms", 500),
    ]


async def _measure_typing(page: Page, seconds: int) -> dict[str, Any]:
    """Type for so long, and return what the page saw of it."""
    await page.evaluate(PROBE.read_text("utf-8"))
    for _ in range(int(seconds / KEY_INTERVAL_SECONDS)):
        await page.keyboard.press("a")
        await asyncio.sleep(KEY_INTERVAL_SECONDS)
    found: dict[str, Any] = await page.evaluate("probe.stop()")
    return found


def _p95(values: list[float]) -> float:
    return quantiles(values, n=20)[18]


async def long_discussion(page: Page, server: MootProcess, messages: int) -> list[Figure]:
    """Open a discussion of many messages and wait until its newest answer is shown."""
    id = await _create_long_discussion(server, messages)
    await page.goto(server.url)
    await page.get_by_role("link", name="Long").wait_for()
    opened = await page.evaluate(
        """async (path) => {
            const began = performance.now()
            document.querySelector(`a[href="${path}"]`).click()
            for (;;) {
                await new Promise(requestAnimationFrame)
                const cards = document.querySelectorAll("article")
                if (cards.length && cards[cards.length - 1].innerText.includes("see everyone else")) break
            }
            await new Promise((done) => requestAnimationFrame(() => setTimeout(done)))
            return performance.now() - began
        }""",
        f"/d/{id}",
    )
    return [Figure(f"opening {messages:,} messages", opened, "ms", 1000)]


async def _create_long_discussion(server: MootProcess, messages: int) -> str:
    body = {"message": "And?", "title": "Long", "participants": ["scripted/short"] * ANSWERS}
    opened = await _post(server, "/api/discussions", body)
    id: str = opened["discussion"]["id"]
    for _ in range(messages // (ANSWERS + 1) - 1):
        await _wait_for_run_end(server, opened["run"]["id"])
        opened = await _post(server, f"/api/discussions/{id}/messages", {"message": "And?"})
    await _wait_for_run_end(server, opened["run"]["id"])
    return id


async def _wait_for_run_end(server: MootProcess, run: str) -> None:
    async with aiohttp.ClientSession() as http, http.get(f"{server.url}/api/runs/{run}/events") as response:
        assert b"run_ended" in await response.read()


async def _post(server: MootProcess, path: str, body: Any) -> Any:
    async with aiohttp.ClientSession() as http, http.post(server.url + path, json=body) as response:
        text = await response.text()
        assert response.status < 300, text
        return msgspec.json.decode(text)


@asynccontextmanager
async def open_page(browser: Browser) -> AsyncIterator[Page]:
    context = await browser.new_context(viewport={"width": 1600, "height": 1000})
    try:
        yield await context.new_page()
    finally:
        await context.close()


async def measure_page(seconds: int, messages: int) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="moot-bench-") as name:
        folder = Path(name)
        (folder / "voices.toml").write_text(SCRIPTS, "utf-8")
        settings = '[providers.scripted]\nscript = "voices.toml"\n'
        async with (
            moot_serve(folder, f"sqlite:///{folder / 'moot.db'}", settings) as server,
            async_playwright() as playwright,
        ):
            await server.wait_until_answered("/readyz")
            browser = await launch_browser(playwright, FULL_BROWSERS)
            figures: list[Figure] = []
            doings: list[Callable[[Page, MootProcess], Any]] = [
                first_visit,
                lambda page, server: typing_at_rest(page, server, seconds // 2),
                lambda page, server: typing_while_streaming(page, server, seconds),
                lambda page, server: long_discussion(page, server, messages),
            ]
            for doing in doings:
                async with open_page(browser) as page:
                    figures += await doing(page, server)
            await browser.close()
            return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a quarter of the time, and of the messages")
    share = 4 if parser.parse_args().quick else 1
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    figures = asyncio.run(measure_page(SECONDS // share, MESSAGES // share))
    for one in figures:
        print(f"  {one.what:28} {one.value:8.1f} {one.unit:3} {one.verdict}".rstrip())


if __name__ == "__main__":
    main()
