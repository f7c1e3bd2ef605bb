"""Measure the web page: size of the first load, latency of a key during six streams, and time to render a long discussion.

Run `python -m bench.page` while no other process uses the CPU. It starts a real `moot serve` and a real Chromium. The
models are scripts; each stream has a hundred chunks of Markdown per second. Linux only.
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

from bench.page_scripts import MODELS, SCRIPTS
from bench.processes import MootProcess, run_moot_server
from tests.page.browser import FULL_BROWSERS, launch_browser

SECONDS = 20
MESSAGES = 2000
ANSWERS = 9  # for each user message of the long discussion
KEY_INTERVAL_SECONDS = 0.12
PROBE = Path(__file__).with_name("page_probe.js")
LAZY = ("katex", "KaTeX")


class PageResult(Struct, frozen=True):
    name: str
    value: float
    unit: str
    limit: float | None = None  # None: a value for comparison, without a goal
    is_minimum: bool = False  # whether the limit is a minimum; the default is a maximum

    @property
    def verdict(self) -> str:
        if self.limit is None:
            return ""
        met = self.value >= self.limit if self.is_minimum else self.value <= self.limit
        return f"(goal {'>=' if self.is_minimum else '<='} {self.limit:g}): {'met' if met else 'NOT MET'}"


async def measure_first_load(page: Page, server: MootProcess) -> list[PageResult]:
    """Return the compressed size of all responses of the first load."""
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
    return [PageResult("first load, gzip", total / 1000, "kB", 200)]


async def measure_idle_typing(page: Page, server: MootProcess, seconds: int) -> list[PageResult]:
    """Type without any stream, and return the latency of a key; it depends only on the machine."""
    await page.goto(server.url)
    await page.get_by_role("textbox").first.click()
    measured = await _measure_typing(page, seconds)
    return [PageResult("key to frame, idle, p95", _compute_p95(measured["keys"]), "ms")]


async def measure_typing_during_streams(page: Page, server: MootProcess, seconds: int) -> list[PageResult]:
    """Type during six streams, and return the frame rate, the latency of a key, and the long tasks."""
    created = await _post_json(server, "/api/discussions", {"message": "Speak.", "participants": MODELS})
    await page.goto(f"{server.url}/d/{created['discussion']['id']}")
    composer = page.get_by_role("textbox", name="Your message")
    await composer.click()
    await page.locator("article").nth(len(MODELS) - 1).wait_for()
    measured = await _measure_typing(page, seconds)
    await _post_json(server, f"/api/runs/{created['run']['id']}/stop", None)
    characters = sum(len(text) for text in await page.locator("article").all_text_contents())
    print(f"  rendered {characters:,} characters, pressed {len(measured['keys'])} keys")
    assert characters > len(MODELS) * seconds * 100, "the models did not stream"
    return [
        PageResult("frames per second", measured["frames"] / measured["seconds"], "", 55, is_minimum=True),
        PageResult("key to frame, p95", _compute_p95(measured["keys"]), "ms", 50),
        PageResult("long tasks, total", measured["long"], "ms", 500),
    ]


async def _measure_typing(page: Page, seconds: int) -> dict[str, Any]:
    """Type for this number of seconds, and return the values of the probe script."""
    await page.evaluate(PROBE.read_text("utf-8"))
    for _ in range(int(seconds / KEY_INTERVAL_SECONDS)):
        await page.keyboard.press("a")
        await asyncio.sleep(KEY_INTERVAL_SECONDS)
    measured: dict[str, Any] = await page.evaluate("probe.stop()")
    return measured


def _compute_p95(values: list[float]) -> float:
    return quantiles(values, n=20)[18]


async def measure_long_discussion(page: Page, server: MootProcess, messages: int) -> list[PageResult]:
    """Open a discussion with many messages, and return the time until the page renders the newest message."""
    id = await _create_long_discussion(server, messages)
    await page.goto(server.url)
    await page.get_by_role("link", name="Long").wait_for()
    duration = await page.evaluate(
        """async (path) => {
            const startTime = performance.now()
            document.querySelector(`a[href="${path}"]`).click()
            for (;;) {
                await new Promise(requestAnimationFrame)
                const cards = document.querySelectorAll("article")
                if (cards.length && cards[cards.length - 1].innerText.includes("see everyone else")) break
            }
            await new Promise((done) => requestAnimationFrame(() => setTimeout(done)))
            return performance.now() - startTime
        }""",
        f"/d/{id}",
    )
    return [PageResult(f"opening {messages:,} messages", duration, "ms", 1000)]


async def _create_long_discussion(server: MootProcess, messages: int) -> str:
    body = {"message": "And?", "title": "Long", "participants": ["scripted/short"] * ANSWERS}
    created = await _post_json(server, "/api/discussions", body)
    id: str = created["discussion"]["id"]
    for _ in range(messages // (ANSWERS + 1) - 1):
        await _wait_for_run_end(server, created["run"]["id"])
        created = await _post_json(server, f"/api/discussions/{id}/messages", {"message": "And?"})
    await _wait_for_run_end(server, created["run"]["id"])
    return id


async def _wait_for_run_end(server: MootProcess, run: str) -> None:
    async with aiohttp.ClientSession() as http, http.get(f"{server.url}/api/runs/{run}/events") as response:
        assert b"run_ended" in await response.read()


async def _post_json(server: MootProcess, path: str, body: Any) -> Any:
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


async def measure_page(seconds: int, messages: int) -> list[PageResult]:
    with tempfile.TemporaryDirectory(prefix="moot-bench-") as name:
        folder = Path(name)
        (folder / "scripts.toml").write_text(SCRIPTS, "utf-8")
        settings = '[providers.scripted]\nscript = "scripts.toml"\n'
        async with (
            run_moot_server(folder, f"sqlite:///{folder / 'moot.db'}", settings) as server,
            async_playwright() as playwright,
        ):
            await server.wait_for_response("/readyz")
            browser = await launch_browser(playwright, FULL_BROWSERS)
            results: list[PageResult] = []
            measurements: list[Callable[[Page, MootProcess], Any]] = [
                measure_first_load,
                lambda page, server: measure_idle_typing(page, server, seconds // 2),
                lambda page, server: measure_typing_during_streams(page, server, seconds),
                lambda page, server: measure_long_discussion(page, server, messages),
            ]
            for measure in measurements:
                async with open_page(browser) as page:
                    results += await measure(page, server)
            await browser.close()
            return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a quarter of the time and of the messages")
    divisor = 4 if parser.parse_args().quick else 1
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    results = asyncio.run(measure_page(SECONDS // divisor, MESSAGES // divisor))
    for result in results:
        print(f"  {result.name:28} {result.value:8.1f} {result.unit:3} {result.verdict}".rstrip())


if __name__ == "__main__":
    main()
