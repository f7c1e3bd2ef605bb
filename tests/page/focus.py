"""The focus of the keyboard: after an act it is somewhere, and it is seen."""

from playwright.async_api import Page

FIND_FOCUS_PROBLEM_JS = """() => {
    const here = document.activeElement;
    if (!here || here === document.body) return "nothing has the focus";
    const isFramed = (one) => getComputedStyle(one).outlineStyle !== "none";
    const around = [here, here.parentElement, here.parentElement.parentElement];
    return around.some(isFramed) || here.id === "main" ? "" : `no focus is seen on ${here.outerHTML.slice(0, 200)}`;
}"""


async def assert_focus_visible(page: Page) -> None:
    """Fail where an act has taken the focus away, or where nobody sees it."""
    trouble = await page.evaluate(FIND_FOCUS_PROBLEM_JS)
    assert not trouble, trouble
