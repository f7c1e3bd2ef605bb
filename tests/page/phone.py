"""A phone: a small screen that is touched, and a finger that is drawn over it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

from playwright.async_api import Locator, Page

from tests.page.contexts import PHONE, Contexts
from tests.page.watching import Watch

WIDTH = PHONE["width"]
STEPS = 12  # of a finger that is drawn over the screen


@asynccontextmanager
async def phone(contexts: Contexts, other: Page) -> AsyncIterator[Page]:
    """Open an empty page on a phone for the account that is logged in on another page, and watch it as any other."""
    async with contexts.phone() as page:
        await page.context.add_cookies(cast("Any", await other.context.cookies()))
        watch = Watch(page)
        yield page
    watch.clean()


async def swipe(what: Locator, distance: int) -> None:
    """Draw a finger sideways over something, around its middle: to the left where the distance is negative."""
    box = await what.bounding_box()
    assert box is not None
    begin, y = box["x"] + (box["width"] - distance) / 2, box["y"] + 30
    chromium = await what.page.context.new_cdp_session(what.page)

    async def touch(kind: str, *at: float) -> None:
        points = [{"x": x, "y": y} for x in at]
        await chromium.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    await touch("touchStart", begin)
    for step in range(1, STEPS + 1):
        await touch("touchMove", begin + distance * step / STEPS)
    await touch("touchEnd")
    await chromium.detach()
