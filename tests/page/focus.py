"""The keyboard focus: after every action an element has it, and it is visible."""

from playwright.async_api import Page

FIND_FOCUS_PROBLEM_JS = """() => {
    const focused = document.activeElement;
    if (!focused || focused === document.body) return "nothing has the focus";
    const isFramed = (one) => getComputedStyle(one).outlineStyle !== "none";
    const around = [focused, focused.parentElement, focused.parentElement.parentElement];
    return around.some(isFramed) || focused.id === "main" ? "" : `no focus is seen on ${focused.outerHTML.slice(0, 200)}`;
}"""


async def assert_focus_visible(page: Page) -> None:
    """Fail if an action has removed the focus, or if the focus is not visible."""
    trouble = await page.evaluate(FIND_FOCUS_PROBLEM_JS)
    assert not trouble, trouble
