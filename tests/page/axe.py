"""Check the accessibility of the page with axe."""

from typing import Any

from playwright.async_api import Locator, Page

from tests.page.animation_frames import wait_frames
from tests.support.node import WEB_FOLDER

SEVERE_IMPACTS = {"serious", "critical"}
ATTEMPTS = 3  # what is wrong stays wrong; on a slow machine a change of colours may take longer than a look
# Colours in the middle of a change, such as from light to dark, are not checked.
WAIT_FOR_TRANSITIONS_JS = """async () => {
    for (let frames = 0; frames < 2; frames++) await new Promise(requestAnimationFrame);
    const changes = document.getAnimations().filter((one) => one instanceof CSSTransition);
    await Promise.allSettled(changes.map((one) => one.finished));
    await new Promise(requestAnimationFrame);
}"""
# The impact of a rule is that of all its violations, so the rules of a mild impact need not run.
FIND_VIOLATIONS_JS = """async (part) => {
    const isMild = (rule) => ["minor", "moderate"].includes(rule.impact);
    const rules = Object.fromEntries(axe._audit.rules.filter(isMild).map((rule) => [rule.id, { enabled: false }]));
    const found = await axe.run(part === document.documentElement ? document : part, { resultTypes: ["violations"], rules });
    return found.violations;
}"""


async def assert_accessible(page: Page, *, within: Locator | None = None) -> None:
    """Fail on every serious or critical violation, and say where it is and how to mend it.

    A call takes a second of processor time. So each view is looked at once: a page, a dialog, a menu, a panel, an error.
    Of a view that lies over a page or in it, only that part is looked at: `within`.
    """
    if not await page.evaluate("'axe' in window"):
        await page.evaluate((WEB_FOLDER / "node_modules/axe-core/axe.min.js").read_text("utf-8"))
    part = within or page.locator(":root")
    for look in range(ATTEMPTS):
        if look:
            await wait_frames(page, 30)
        await page.evaluate(WAIT_FOR_TRANSITIONS_JS)
        violations: list[dict[str, Any]] = await part.evaluate(FIND_VIOLATIONS_JS)
        grave = [_format_violation(found) for found in violations if found["impact"] in SEVERE_IMPACTS]
        if not grave:
            return
    raise AssertionError("\n".join(grave))


def _format_violation(violation: dict[str, Any]) -> str:
    places = "\n".join(f"  {node['html'][:200]}\n    {node['failureSummary']}" for node in violation["nodes"][:5])
    return f"{violation['id']}: {violation['help']}\n{places}"
