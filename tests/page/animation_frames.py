"""Time as a page counts it: what would be shown soon is shown once so many frames were painted."""

from playwright.async_api import Locator, Page

WAIT_FRAMES_JS = """async (count) => {
    for (let frame = 0; frame < count; frame++) await new Promise(requestAnimationFrame);
}"""
STABLE_FRAMES = 8  # longer than the pause between two paintings of one answer


async def wait_frames(page: Page, count: int) -> None:
    await page.evaluate(WAIT_FRAMES_JS, count)


async def stable_text(locator: Locator) -> str:
    """Read the words that a place shows, once they stay the same: they are painted some frames after they came."""
    shown = ""
    while not shown or await locator.inner_text() != shown:
        shown = await locator.inner_text()
        await wait_frames(locator.page, STABLE_FRAMES)
    return shown
