"""Ask axe whether everybody can use what is on the page."""

from typing import Any

from playwright.async_api import Page

from tests.node import WEB
from tests.page.frames import frames_pass

GRAVE = {"serious", "critical"}
LOOKS = 3  # what is wrong stays wrong; on a slow machine a change of colours may take longer than a look
# Colours that are just changing, from light to dark say, are nobody's colours.
SETTLED = """async () => {
    for (let frames = 0; frames < 2; frames++) await new Promise(requestAnimationFrame);
    const changes = document.getAnimations().filter((one) => one instanceof CSSTransition);
    await Promise.allSettled(changes.map((one) => one.finished));
    await new Promise(requestAnimationFrame);
}"""


class Ring:
    """Which ring runs. axe takes a second of processor time, so the default ring looks once at each view."""

    is_slow = False


async def axe(page: Page, *, every_ring: bool = False) -> None:
    """Fail on every serious or critical violation, and say where it is and how to mend it.

    The slow ring looks at every step of a journey, the default ring where `every_ring` says so.
    """
    if not (every_ring or Ring.is_slow):
        return
    if not await page.evaluate("'axe' in window"):
        await page.evaluate((WEB / "node_modules/axe-core/axe.min.js").read_text("utf-8"))
    for look in range(LOOKS):
        if look:
            await frames_pass(page, 30)
        await page.evaluate(SETTLED)
        result: dict[str, Any] = await page.evaluate("axe.run({ resultTypes: ['violations'] })")
        grave = [_told(found) for found in result["violations"] if found["impact"] in GRAVE]
        if not grave:
            return
    raise AssertionError("\n".join(grave))


def _told(found: dict[str, Any]) -> str:
    places = "\n".join(f"  {node['html'][:200]}\n    {node['failureSummary']}" for node in found["nodes"][:5])
    return f"{found['id']}: {found['help']}\n{places}"
