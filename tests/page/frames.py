"""Time as a page counts it: what would be shown soon is shown once so many frames were painted."""

from playwright.async_api import Locator, Page

PASS = """async (count) => {
    for (let frame = 0; frame < count; frame++) await new Promise(requestAnimationFrame);
}"""
FRAMES_AT_REST = 8  # longer than the pause between two paintings of one answer


async def frames_pass(page: Page, count: int) -> None:
    await page.evaluate(PASS, count)


async def words_of(place: Locator) -> str:
    """Read the words that a place shows, once they stay the same: they are painted some frames after they came."""
    shown = ""
    while not shown or await place.inner_text() != shown:
        shown = await place.inner_text()
        await frames_pass(place.page, FRAMES_AT_REST)
    return shown
