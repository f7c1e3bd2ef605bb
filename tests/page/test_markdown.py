"""The markdown of answers in a real browser, under the page's own policy: what it shows, keeps and never lets through."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import web
from playwright.async_api import Page, expect

from moot.server.static_files import SECURITY_HEADERS
from tests.page.attacks import ATTACKS
from tests.page.axe import assert_accessible
from tests.support.node import install_node_packages, run_node

ALLOWED_TAGS = (
    "a blockquote br button code del div em figcaption figure h3 h4 h5 h6 hr li ol p pre span strong sup table tbody td "
    "th thead tr ul svg path math semantics mrow mi mo mn ms mtext mspace msub msup msubsup mfrac msqrt mroot munder mover munderover "
    "mmultiscripts mtable mtr mtd mstyle mpadded mphantom menclose merror"
)
ALLOWED_ATTRIBUTES = (
    "aria-hidden aria-label class d data-formula data-language data-note data-noted data-open href rel role start tabindex target type "
    "accent columnalign columnspacing depth display displaystyle fence height linethickness lspace mathbackground mathcolor mathsize "
    "mathvariant maxsize minsize notation rowspacing rspace scriptlevel separator stretchy symmetric voffset width "
    "preserveAspectRatio viewBox xmlns style"
)
INSPECT_ATTACKS_JS = """
([attacks, tags, attributes]) => {
  const seen = new Set();
  const look = (attack) => (root) => {
    for (const element of root.querySelectorAll('*')) {
      if (!tags.includes(element.localName)) seen.add(`${attack}: <${element.localName}>`);
      for (const { name, value } of element.attributes) {
        if (!attributes.includes(name)) seen.add(`${attack}: ${name}="${value}"`);
        if (name === 'href' && !/^(https?:\\/\\/|mailto:|#)/.test(value)) seen.add(`${attack}: to ${value}`);
      }
      if (element.hasAttribute('style') && !(element.closest('.katex') && /^[-a-z0-9.,%:;#() ]*$/.test(element.style.cssText)))
        seen.add(`${attack}: a style ${element.style.cssText}`);
      if (/url|fixed|absolute/.test(element.getAttribute('style') ?? '')) seen.add(`${attack}: a style`);
      if (element.localName === 'a' && !element.dataset.note && element.rel !== 'noopener noreferrer nofollow')
        seen.add(`${attack}: a link without its rel`);
    }
  };
  window.roots = attacks.map((attack) => [look(attack), grow(attack, look(attack))]);
  window.seen = seen;
}
"""
LONG_TEXT = "\n".join(f"Line {number} of a **text** that goes on.\n" for number in range(40))
RICH_TEXT = """# A title

Words with **weight**, `code`, [a link](https://example.org/page), https://example.org and ![a cat](https://example.org/cat.png).

| Name | Sum |
|------|----:|
| one  | $x_1^2$ |

1. First
   - [x] done
   - [ ] to do
2. Second

> A quote[^1]

```python
def answer() -> int:
    return 42  # of course
```

$$
\\int_0^1 \\frac{x^2}{\\sqrt{1 + x}} \\, dx = \\sum_{n=0}^{\\infty} a_n
$$

[^1]: A note.
"""


@pytest.fixture(scope="module")
def harness_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    install_node_packages()
    folder = tmp_path_factory.mktemp("harness")
    run_node(
        "node_modules/vite/bin/vite.js",
        "build",
        "--config",
        "tests/harness/vite.config.ts",
        "--outDir",
        folder,
    )
    return folder


@pytest_asyncio.fixture(loop_scope="session")
async def harness(harness_folder: Path, page: Page) -> AsyncIterator[Page]:
    """Open the markdown alone, served with the policy of the page."""
    app = web.Application()
    app.router.add_static("/", harness_folder)
    app.on_response_prepare.append(_add_security_policy)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    await page.goto(f"http://127.0.0.1:{runner.addresses[0][1]}/index.html")
    await page.wait_for_function("'show' in window")
    yield page
    await runner.cleanup()


async def _add_security_policy(_: web.Request, response: web.StreamResponse) -> None:
    response.headers["Content-Security-Policy"] = SECURITY_HEADERS["content-security-policy"]


async def show_markdown(page: Page, text: str, *, live: bool = False) -> None:
    await page.evaluate("([text, live]) => show(text, live)", [text, live])


async def test_attacks_are_unique_and_reach_minimum_count() -> None:
    assert len(set(ATTACKS)) == len(ATTACKS) >= 120


@pytest.mark.parametrize(
    "attacks",
    [pytest.param(ATTACKS[::4], id="some"), pytest.param(ATTACKS, id="all", marks=pytest.mark.slow)],
)
async def test_sanitizer_leaves_only_allowed_tags_and_attributes(harness: Page, attacks: Sequence[str]) -> None:
    await show_markdown(harness, "$x$ and\n\n```js\nlet x = 1;\n```\n")
    await expect(harness.locator("#card .katex-html")).to_be_visible()  # KaTeX and the highlighter are there
    await expect(harness.locator("#card .hljs-keyword")).to_be_visible()
    await harness.evaluate(INSPECT_ATTACKS_JS, [attacks, ALLOWED_TAGS.split(), ALLOWED_ATTRIBUTES.split()])
    await expect(harness.locator(".hljs-keyword")).not_to_have_count(0)
    await harness.evaluate("new Promise((done) => setTimeout(done))")
    seen = await harness.evaluate("roots.forEach(([look, root]) => look(root)), [...seen]")
    assert seen == []
    assert await harness.locator(".markdown math").count() > len(attacks) // 70
    assert await harness.locator(".markdown a").count() > len(attacks) // 23


async def test_markdown_renders_code_tables_and_formulas(harness: Page) -> None:
    await show_markdown(harness, RICH_TEXT)
    answer = harness.locator("#card")
    await expect(answer.get_by_role("heading", name="A title", level=3)).to_be_visible()
    await expect(answer.get_by_role("link", name="a link")).to_have_attribute("href", "https://example.org/page")
    await expect(answer.locator(".place")).to_have_text(["example.org", "example.org"])
    await expect(answer.locator("img")).to_have_count(0)
    await expect(answer.get_by_role("cell", name="one")).to_be_visible()
    await expect(answer.get_by_role("img", name="Done")).to_have_count(1)
    await expect(answer.locator("math")).to_have_count(2)
    await expect(answer.locator(".hljs-keyword").first).to_have_text("def")
    await assert_accessible(harness)


async def test_code_copy_button_copies_the_source_text(harness: Page) -> None:
    await harness.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await show_markdown(harness, RICH_TEXT)
    copy = harness.get_by_role("button", name="Copy this python code")
    await expect(copy).to_be_visible()
    await harness.evaluate("window.setTimeout = () => 0")  # that it was copied stays until it was looked at
    await copy.click()
    await expect(harness.locator("button.copy")).to_have_text("Copied")
    assert await harness.evaluate("navigator.clipboard.readText()") == (
        "def answer() -> int:\n    return 42  # of course"
    )


async def test_finished_blocks_are_not_rerendered_and_keep_selection(harness: Page) -> None:
    await show_markdown(harness, "First *words*.\n\nSecond", live=True)
    await expect(harness.locator("#card .block")).to_have_count(2)
    await harness.evaluate("""() => {
        window.first = document.querySelector('#card .block');
        getSelection().selectAllChildren(first);
        window.changes = 0;
        new MutationObserver((all) => (changes += all.length))
            .observe(first, { subtree: true, childList: true, attributes: true, characterData: true });
    }""")
    for end in range(1, len(LONG_TEXT), 40):
        await show_markdown(harness, "First *words*.\n\nSecond" + LONG_TEXT[:end], live=True)
    await show_markdown(harness, "First *words*.\n\nSecond" + LONG_TEXT)
    await expect(harness.locator("#card .block[data-open]")).to_have_count(0)
    await expect(harness.locator("#card .block").last).to_contain_text("Line 39")
    assert await harness.evaluate("[getSelection().toString(), changes, first.isConnected]") == [
        "First words.",
        0,
        True,
    ]


async def test_open_code_fence_streams_and_is_highlighted_when_closed(harness: Page) -> None:
    code = "".join(f"let x{number} = {number};\n" for number in range(600))
    await show_markdown(harness, f"```js\n{code[:5000]}", live=True)
    await expect(harness.locator("#card code.open > span")).to_have_count(2)
    await show_markdown(harness, f"```js\n{code}", live=True)
    await expect(harness.locator("#card code")).to_contain_text("let x599 = 599;")
    assert await harness.locator("#card code").evaluate("(code) => code.textContent") == code
    await expect(harness.locator("#card .hljs-keyword")).to_have_count(0)
    await show_markdown(harness, f"```js\n{code}```\nDone", live=True)
    await expect(harness.locator("#card .hljs-keyword")).to_have_count(600)
    assert await harness.locator("#card code").evaluate("(code) => code.textContent") == code


async def test_markdown_replaces_all_blocks_when_text_changes(harness: Page) -> None:
    await show_markdown(harness, "One\n\ntwo\n\nthree")
    await expect(harness.locator("#card .block")).to_have_count(3)
    await show_markdown(harness, "Four", live=True)
    await expect(harness.locator("#card .block")).to_have_text(["Four"])


async def test_quote_is_found_and_highlighted(harness: Page) -> None:
    await show_markdown(harness, LONG_TEXT + "\nThey **agreed** on “three things”,\nand left.\n\n" + LONG_TEXT)
    await expect(harness.locator("#card")).to_contain_text("and left")
    assert await harness.evaluate("""quote('agreed on "three things", and')""")
    assert await harness.evaluate("[...CSS.highlights.get('moot-quote')][0].toString()") == (
        "agreed on “three things”,\nand"
    )
    assert not await harness.evaluate("quote('nobody said that')")
    assert await harness.evaluate("CSS.highlights.has('moot-quote')") is False


async def test_long_text_is_rendered_over_several_frames(harness: Page) -> None:
    await harness.evaluate("""() => {
        window.paints = 0;
        new MutationObserver(() => (paints += 1)).observe(document.querySelector('#card'), { subtree: true, childList: true });
    }""")
    await show_markdown(harness, LONG_TEXT * 50 + "\nThe end.")
    await expect(harness.locator("#card .block").last).to_have_text("The end.")
    assert await harness.evaluate("paints") > 2


async def test_offscreen_blocks_keep_their_rendered_height(harness: Page) -> None:
    await show_markdown(
        harness,
        (RICH_TEXT + LONG_TEXT) * 10 + "\nThey **agreed** on three things.\n\n" + LONG_TEXT * 5 + "\nThe end.",
    )
    blocks = harness.locator("#card .block")
    await expect(blocks.last).to_have_text("The end.")
    leaves = await blocks.count() // 16
    await expect(harness.locator("#card .rests")).to_have_count(leaves)
    far = "() => !document.querySelector('#card .rests:nth-last-of-type(2) p').checkVisibility({ contentVisibilityAuto: true })"
    await harness.wait_for_function(far)
    resting = await harness.evaluate("document.documentElement.scrollHeight")
    await harness.evaluate("""() => {
        const shown = new CSSStyleSheet();
        shown.replaceSync('.markdown .rests { content-visibility: visible }');
        document.adoptedStyleSheets = [shown];
    }""")
    seen = await harness.evaluate("document.documentElement.scrollHeight")
    assert abs(seen - resting) < leaves / 2, "a leaf does not even move by a pixel"
    await harness.evaluate("document.adoptedStyleSheets = []")
    assert await harness.evaluate("quote('agreed on three things')")
