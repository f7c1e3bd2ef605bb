"""A phone: a small screen that is touched, and a finger that is drawn over it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

from playwright.async_api import Locator, Page

from tests.page.animation_frames import wait_frames
from tests.page.contexts import PHONE, BrowserContexts
from tests.page.page_errors import PageErrors

PHONE_WIDTH = PHONE["width"]
SWIPE_STEPS = 12  # of a finger that is drawn over the screen
# What can be touched and is too small for a finger.
FIND_SMALL_TARGETS_JS = """() => {
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
# What is wider than the screen.
FIND_OVERFLOW_JS = """() => [...document.querySelectorAll("html, main, dialog[open], dialog[open] .content")]
    .filter((one) => one.scrollWidth > one.clientWidth + 1)
    .map((one) => `${one.tagName} ${one.className} is ${one.scrollWidth} wide`)"""


@asynccontextmanager
async def open_phone_page(contexts: BrowserContexts, logged_in_page: Page) -> AsyncIterator[Page]:
    """Open an empty page on a phone for the account that is logged in on another page, and watch it as any other."""
    async with contexts.phone() as page:
        await page.context.add_cookies(cast("Any", await logged_in_page.context.cookies()))
        watch = PageErrors(page)
        yield page
    watch.assert_none()


async def swipe(target: Locator, distance: int) -> None:
    """Draw a finger sideways over something, around its middle: to the left where the distance is negative."""
    box = await target.bounding_box()
    assert box is not None
    begin, y = box["x"] + (box["width"] - distance) / 2, box["y"] + 30
    chromium = await target.page.context.new_cdp_session(target.page)

    async def touch(kind: str, *at: float) -> None:
        points = [{"x": x, "y": y} for x in at]
        await chromium.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    await touch("touchStart", begin)
    for step in range(1, SWIPE_STEPS + 1):
        await touch("touchMove", begin + distance * step / SWIPE_STEPS)
    await touch("touchEnd")
    await chromium.detach()


async def assert_fits_screen(page: Page) -> None:
    """Fail where something is too wide for the screen, or too small for a finger."""
    troubles = [*await page.evaluate(FIND_OVERFLOW_JS), *await page.evaluate(FIND_SMALL_TARGETS_JS)]
    assert not troubles, "\n".join(troubles)


async def assert_fits_phone(page: Page) -> None:
    """Turn the screen of a desktop into that of a phone for a moment, and see that the view fits it."""
    before = page.viewport_size
    assert before is not None
    chromium = await page.context.new_cdp_session(page)
    await chromium.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    await page.set_viewport_size(PHONE)
    await page.wait_for_function("matchMedia('(pointer: coarse)').matches")
    await wait_frames(page, 2)  # so that the page has its new size
    await assert_fits_screen(page)
    await page.set_viewport_size(before)
    await chromium.send("Emulation.setTouchEmulationEnabled", {"enabled": False})
    await chromium.detach()
