"""Time as a page counts it: what would be shown soon is shown once so many frames were painted."""

from playwright.async_api import Page

PASS = """async (count) => {
    for (let frame = 0; frame < count; frame++) await new Promise(requestAnimationFrame);
}"""


async def frames_pass(page: Page, count: int) -> None:
    await page.evaluate(PASS, count)
