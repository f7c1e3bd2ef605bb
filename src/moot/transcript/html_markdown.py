"""Safe Markdown renderer for untrusted text: raw HTML is escaped, images become links, link schemes are limited.

LaTeX formulas become SVG. Parser rules find their delimiters.
"""

import re
from collections.abc import Sequence
from contextlib import suppress

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from moot.transcript.html import TimeBudget, escape_html, html_element
from moot.whiteboard.render.elements import format_number, replace_unprintable, svg_tag
from moot.whiteboard.render.latex import FORMULA_FONT_SIZE, Formula, InvalidFormula, layout_formula

SAFE_LINK = re.compile(r"(?:https?://|mailto:)[^\x00-\x20]+", re.IGNORECASE)
LINK_REL = "noopener noreferrer nofollow"
HEADING_OFFSET = 3  # answers are below the headings of the transcript
# A longer text is shown as source, and so is every text after the time budget is spent.
MAX_MARKDOWN_CHARS = 50_000
MARKDOWN_BUDGET_SECONDS = 10.0
MARKDOWN_OPTIONS = {"html": False, "breaks": True, "linkify": False, "typographer": False}
DELIMITERS = (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$"))
BLOCK_OPENERS = frozenset({"$$", "\\["})  # start a formula block on a new line
MAX_FORMULA_CHARS = 2000
MAX_FORMULA_LINES = 60
FORMULA_BUDGET_SECONDS = 3.0  # processor time for all formulas of a transcript


class FormulaRenderer:
    """Renders formulas as SVG. Once the time budget is spent, the rest is shown as source."""

    def __init__(self, time_budget: TimeBudget | None = None) -> None:
        self._time_budget = time_budget or TimeBudget(FORMULA_BUDGET_SECONDS)

    def render_formula(self, latex: str, *, is_block: bool) -> str:
        """Return SVG in the size of the text, or the source if the formula is invalid."""
        layout: Formula | None = None
        if not self._time_budget.is_spent:
            with suppress(InvalidFormula), self._time_budget.track_time():
                layout = layout_formula(latex)
        if layout is None or layout.width <= 0 or layout.height <= 0:
            code = html_element("code", escape_html(latex))
            return html_element("pre", code) if is_block else code
        svg = svg_tag(
            "svg",
            layout.paths,
            class_="apart" if is_block else "formula",
            viewBox=" ".join(map(format_number, (layout.x, layout.y, layout.width, layout.height))),
            width=f"{layout.width / FORMULA_FONT_SIZE:.3f}em",
            height=f"{layout.height / FORMULA_FONT_SIZE:.3f}em",
            fill="currentColor",
            role="img",
            aria_label=latex,
            style=None if is_block else f"vertical-align:{-(layout.y + layout.height) / FORMULA_FONT_SIZE:.3f}em",
        )
        return html_element("p", svg, class_="formula") if is_block else svg


class SafeMarkdown(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 - overrides a method of MarkdownIt
        return SAFE_LINK.fullmatch(url) is not None


class SafeHtmlRenderer(RendererHTML):
    """Renders tokens as HTML. Methods are named after token types."""

    def __init__(self, formulas: FormulaRenderer) -> None:
        super().__init__()
        self.rules |= {
            name: getattr(self, name)
            for name in ("image", "link_open", "heading_open", "heading_close", "formula", "formula_apart")
        }
        self._formulas = formulas

    def image(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType) -> str:  # noqa: ARG002
        """Render a link instead of the image, so that the browser sends no request."""
        source, alt = str(tokens[at].attrs["src"]), tokens[at].content
        before = [token.type for token in tokens[:at]]
        if before.count("link_open") > before.count("link_close"):  # links cannot be nested
            return escape_html(alt or source)
        return html_element("a", escape_html(alt or source), href=source, rel=LINK_REL)

    def link_open(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType) -> str:
        tokens[at].attrSet("rel", LINK_REL)
        return self.renderToken(tokens, at, options, env)

    def heading_open(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType) -> str:
        tokens[at].tag = f"h{min(int(tokens[at].tag[1:]) + HEADING_OFFSET, 6)}"
        return self.renderToken(tokens, at, options, env)

    heading_close = heading_open

    def formula(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType) -> str:  # noqa: ARG002
        return self._formulas.render_formula(tokens[at].content, is_block=False)

    def formula_apart(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType) -> str:  # noqa: ARG002
        return self._formulas.render_formula(tokens[at].content, is_block=True)


class MarkdownRenderer:
    """Renderer for the messages of one transcript, which share a time budget."""

    def __init__(self, formulas: FormulaRenderer | None = None, time_budget: TimeBudget | None = None) -> None:
        self._markdown = SafeMarkdown("commonmark", MARKDOWN_OPTIONS).enable(["table", "strikethrough"])
        self._markdown.renderer = SafeHtmlRenderer(formulas or FormulaRenderer())
        add_formula_rules(self._markdown)
        self._time_budget = time_budget or TimeBudget(MARKDOWN_BUDGET_SECONDS)

    def __call__(self, text: str) -> str:
        if len(text) > MAX_MARKDOWN_CHARS or self._time_budget.is_spent:
            return html_element("pre", escape_html(text))
        with self._time_budget.track_time():
            return str(self._markdown.render(replace_unprintable(text)))


def add_formula_rules(markdown: MarkdownIt) -> None:
    """Add parser rules. Inline formulas become `formula` tokens, blocks `formula_apart` tokens."""
    markdown.inline.ruler.before("escape", "formula", _inline_rule)
    interrupted = ["paragraph", "reference", "blockquote", "list"]
    markdown.block.ruler.before("fence", "formula_apart", _block_rule, {"alt": interrupted})


def _inline_rule(state: StateInline, silent: bool) -> bool:
    pair = next((pair for pair in DELIMITERS if state.src.startswith(pair[0], state.pos)), None)
    if pair is None:
        return False
    opening, closing = pair
    start = state.pos + len(opening)
    end = _find_closing(state.src, closing, start, min(state.posMax, start + MAX_FORMULA_CHARS))
    if end is None or (opening == "$" and not _is_formula(state.src, start, end)):
        return False
    if not silent:
        token = state.push("formula", "", 0)
        token.content = state.src[start:end].strip()
    state.pos = end + len(closing)
    return True


def _find_closing(source: str, sign: str, start: int, stop: int) -> int | None:
    """Return the index of the closing sign; None if there is none or the formula is empty. Skips escaped dollars."""
    end = source.find(sign, start, stop)
    while end > 0 and sign == "$" and source[end - 1] == "\\":
        end = source.find(sign, end + 1, stop)
    return end if end > start and source[start:end].strip() else None


def _is_formula(source: str, start: int, end: int) -> bool:
    """Reject text between two dollar amounts, such as `$5 and $6`."""
    inner = source[start:end]
    after = source[end + 1 : end + 2]
    return not (inner[0].isspace() or inner[-1].isspace() or after.isdigit())


def _block_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.is_code_block(start):
        return False
    pair = next(
        (one for one in DELIMITERS if one[0] in BLOCK_OPENERS and _line_text(state, start).startswith(one[0])), None
    )
    if pair is None or (found := _read_block(state, start, end, *pair)) is None:
        return False
    latex, last = found
    if not silent:
        token = state.push("formula_apart", "", 0)
        token.content, token.map = latex, [start, last + 1]
        state.line = last + 1
    return True


def _read_block(state: StateBlock, start: int, end: int, opening: str, closing: str) -> tuple[str, int] | None:
    """Return the formula and its last line. None if text follows the closing sign, or a limit is exceeded."""
    lines: list[str] = []
    for index in range(start, min(end, start + MAX_FORMULA_LINES)):
        line = _line_text(state, index)
        if index == start:
            line = line.removeprefix(opening)
        before, found, after = line.rstrip().partition(closing)
        lines.append(before)
        if found:
            latex = "\n".join(lines).strip()
            return (latex, index) if not after and latex and len(latex) <= MAX_FORMULA_CHARS else None
    return None


def _line_text(state: StateBlock, index: int) -> str:
    return state.src[state.bMarks[index] + state.tShift[index] : state.eMarks[index]]
