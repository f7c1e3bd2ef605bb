"""Markdown of any origin as HTML that can do nothing: raw HTML is text, images are links, and links go to the web."""

import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from moot.transcript.formulas import Formulas, find_formulas
from moot.transcript.html import Work, element, words
from moot.whiteboard.render.elements import printable

LINK = re.compile(r"(?:https?://|mailto:)[^\x00-\x20]+", re.IGNORECASE)
REL = "noopener noreferrer nofollow"
DEEPER = 3  # an answer is itself under headings
LONGEST = (
    50_000  # characters; longer texts, and all after so many seconds of work, are shown as they are written
)
SECONDS = 10.0
OPTIONS = {"html": False, "breaks": True, "linkify": False, "typographer": False}


class Markdown(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 - so it is called
        return LINK.fullmatch(url) is not None


class Writer(RendererHTML):
    """Writes tokens as HTML; `formulas` draws what is between dollars."""

    def __init__(self, formulas: Formulas) -> None:
        super().__init__()
        self.rules |= {
            name: getattr(self, name)
            for name in ("image", "link_open", "heading_open", "heading_close", "formula", "formula_apart")
        }
        self._formulas = formulas

    def image(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType) -> str:  # noqa: ARG002
        """Name an image; nothing is fetched, unless somebody follows the link."""
        source, told = str(tokens[at].attrs["src"]), tokens[at].content
        before = [token.type for token in tokens[:at]]
        if before.count("link_open") > before.count("link_close"):
            return words(told or source)
        return element("a", words(told or source), href=source, rel=REL)

    def link_open(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType) -> str:
        tokens[at].attrSet("rel", REL)
        return self.renderToken(tokens, at, options, env)

    def heading_open(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType) -> str:
        tokens[at].tag = f"h{min(int(tokens[at].tag[1:]) + DEEPER, 6)}"
        return self.renderToken(tokens, at, options, env)

    heading_close = heading_open

    def formula(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType) -> str:  # noqa: ARG002
        return self._formulas.drawn(tokens[at].content, apart=False)

    def formula_apart(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType) -> str:  # noqa: ARG002
        return self._formulas.drawn(tokens[at].content, apart=True)


class Rendering:
    """Renders what is said in one transcript."""

    def __init__(self, formulas: Formulas | None = None, work: Work | None = None) -> None:
        self._markdown = Markdown("commonmark", OPTIONS).enable(["table", "strikethrough"])
        self._markdown.renderer = Writer(formulas or Formulas())
        find_formulas(self._markdown)
        self._work = work or Work(SECONDS)

    def __call__(self, text: str) -> str:
        if len(text) > LONGEST or self._work.is_over:
            return element("pre", words(text))
        with self._work.going_on():
            return str(self._markdown.render(printable(text)))
