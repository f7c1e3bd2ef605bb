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


RUN = """(contrast) => axe.run({
    resultTypes: ["violations"],
    rules: { "color-contrast": { enabled: contrast } },
})"""


class Ring:
    """Which ring runs: the contrast of colours takes most of axe's time, so each step asks for it in the slow one."""

    is_slow = False


async def axe(page: Page, *, contrast: bool = False) -> None:
    """Fail on every serious or critical violation, telling where it is and how to mend it.

    The default ring looks at the contrast of colours only where a test says so, once for each view.
    """
    if not await page.evaluate("'axe' in window"):
        await page.evaluate((WEB / "node_modules/axe-core/axe.min.js").read_text("utf-8"))
    for look in range(LOOKS):
        if look:
            await frames_pass(page, 30)
        await page.evaluate(SETTLED)
        result: dict[str, Any] = await page.evaluate(RUN, contrast or Ring.is_slow)
        grave = [_told(found) for found in result["violations"] if found["impact"] in GRAVE]
        if not grave:
            return
    raise AssertionError("\n".join(grave))


def _told(found: dict[str, Any]) -> str:
    places = "\n".join(f"  {node['html'][:200]}\n    {node['failureSummary']}" for node in found["nodes"][:5])
    return f"{found['id']}: {found['help']}\n{places}"
