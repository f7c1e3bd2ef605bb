"""Safe Markdown renderer for untrusted text: raw HTML is escaped, images become links, link schemes are limited."""

import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from moot.transcript.formulas import FormulaRenderer, add_formula_rules
from moot.transcript.html import TimeBudget, escape_html, html_element
from moot.whiteboard.render.elements import replace_unprintable

SAFE_LINK = re.compile(r"(?:https?://|mailto:)[^\x00-\x20]+", re.IGNORECASE)
LINK_REL = "noopener noreferrer nofollow"
HEADING_OFFSET = 3  # answers are below the headings of the transcript
# A longer text is shown as source, and so is every text after the time budget is spent.
MAX_MARKDOWN_CHARS = 50_000
MARKDOWN_BUDGET_SECONDS = 10.0
MARKDOWN_OPTIONS = {"html": False, "breaks": True, "linkify": False, "typographer": False}


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
